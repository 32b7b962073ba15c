// shoal convert: its settings, and its description of a compressed network.
#pragma once

#include <cstdint>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/text/json.h"
#include "shoal/base/text/setting.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/methods/methods.h"

namespace shoal::config {

struct CompressSettings {
  const compress::Method* method = nullptr;  // null: none
  std::string folder = {};                   // images and .npy files to calibrate with
  size_t limit = 100;                        // files to read at most
  std::string target = "macs=0.5";
  std::string ranges = "auto";
  bool correct_bias = true;
  double real = compress::FallbackRule().most_work;
  std::string device = "cpu";
  int threads = 0;
};

// All but the method, which has a flag of its name.
SettingList settings_of(CompressSettings& settings);

// kInvalidArgument if a given flag needs a method and there is none, or the method ignores it.
Status check(const CompressSettings& settings, const GivenFlags& given);

// The source of a method's examples. A method that can do without uses none if no folder was given.
enum class ExampleSource { kNone, kFolder, kRandom };
// REQUIRES: there is a method.
ExampleSource example_source(const CompressSettings& settings);
// These examples. Fails as fit::folder_examples() does. REQUIRES: `graph` outlives them.
Result<compress::CalibrationData> examples_for(const CompressSettings& settings, const Graph& graph,
                                               const Preprocess& how);

// The CPU options of the method, and the rounding of the method int8. REQUIRES: there is a method.
CpuOptions cpu_options(const CompressSettings& settings);
compress::Int8Options int8_options(const CompressSettings& settings);

}  // namespace shoal::config

namespace shoal::compress {

// The path of the result, and its source.
struct WrittenFile {
  std::string path;
  int64_t bytes = 0;
  size_t examples = 0;  // that were seen
};
Json to_json(const Compressed& result, const Method& method, const WrittenFile& file);
std::string text_of(const Compressed& result, const Method& method, const WrittenFile& file);

}  // namespace shoal::compress
