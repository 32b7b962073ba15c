#include "calibrate.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>

#include "model.h"
#include "progress.h"
#include "shoal/compress/quantize.h"
#include "shoal/cpu/cpu.h"
#include "shoal/data/npy.h"
#include "shoal/ops/ops.h"

namespace shoal::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRandomExamples = 8;

Result<std::vector<fs::path>> list_examples(const std::string& folder, size_t limit) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    const fs::path& path = entry.path();
    if (is_image(path) || path.extension() == ".npy") files.push_back(path);
  }
  if (error) return Status(Code::kNotFound, "cannot read " + folder + ": " + error.message());
  if (files.empty()) {
    return Status(Code::kNotFound, "no .jpg, .png or .npy file in " + folder);
  }
  std::ranges::sort(files);
  // Spread over all of them: neighbours are often of one kind.
  if (files.size() > limit) {
    std::vector<fs::path> some;
    for (size_t i = 0; i < limit; ++i) some.push_back(files[i * files.size() / limit]);
    files = std::move(some);
  }
  return files;
}

InputInfo info_of(const Value& input) {
  return {input.name, input.type.dtype, {input.type.shape.begin(), input.type.shape.end()}};
}

Result<Tensor> read_example(const fs::path& file, const Value& input, const Preprocess& how) {
  Tensor x;
  if (is_image(file)) {
    SHOAL_ASSIGN(const Tensor image, read_image(file));
    SHOAL_ASSIGN(x, prepare_image(image, info_of(input), how));
  } else {
    SHOAL_ASSIGN(x, read_npy(file));
  }
  if (x.type() == input.type) return x;
  return invalid("is " + to_string(x.type()) + ", input " + input.name + " takes " +
                 to_string(input.type));
}

Status observe_files(const Graph& graph, const CalibrateFlags& flags,
                     compress::Calibration& calibration, size_t& examples) {
  if (graph.inputs().size() != 1) {
    return invalid("--calibrate needs a model of one input, this one has " +
                   std::to_string(graph.inputs().size()));
  }
  SHOAL_ASSIGN(const auto files, list_examples(flags.folder, flags.limit));
  Progress progress("calibrating", files.size());
  for (; examples < files.size(); ++examples) {
    progress.at(examples);
    auto x = read_example(files[examples], graph[graph.inputs()[0]], flags.preprocess);
    if (!x.ok()) return x.status().at(files[examples].string());
    SHOAL_TRY(calibration.observe(std::array{*std::move(x)}));
  }
  return {};
}

Status observe_random(const Graph& graph, compress::Calibration& calibration, size_t& examples) {
  std::fprintf(stderr,
               "shoal: no --calibrate DIR: calibrating with random inputs, good for measuring "
               "speed only\n");
  std::mt19937 rng(1);
  Progress progress("calibrating", kRandomExamples);
  for (; examples < kRandomExamples; ++examples) {
    progress.at(examples);
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs()) inputs.push_back(random_tensor(graph[id].type, rng));
    SHOAL_TRY(calibration.observe(inputs));
  }
  return {};
}

void count_products(Int8Graph& result) {
  const Graph& graph = result.graph;
  std::vector<bool> dequantized(graph.value_count());
  for (const Node& node : graph.nodes()) {
    if (node.op == &ops::dequantize_linear)
      dequantized[static_cast<size_t>(node.outputs[0])] = true;
    if (node.op != &ops::conv && node.op != &ops::gemm && node.op != &ops::mat_mul) continue;
    ++result.products;
    result.quantized += dequantized[static_cast<size_t>(node.inputs[1])] ? 1 : 0;
  }
}

}  // namespace

Result<Int8Graph> quantize_calibrated(const Graph& graph, const CalibrateFlags& flags) {
  SHOAL_ASSIGN(const Graph prepared, compress::prepare(graph));
  const auto device = make_cpu_device({.threads = flags.threads});
  SHOAL_ASSIGN(compress::Calibration calibration, compress::Calibration::start(prepared, *device));
  Int8Graph result;
  SHOAL_TRY(flags.folder.empty() ? observe_random(prepared, calibration, result.examples)
                                 : observe_files(prepared, flags, calibration, result.examples));
  SHOAL_ASSIGN(result.graph, compress::quantize(prepared, calibration.ranges()));
  count_products(result);
  return result;
}

}  // namespace shoal::cli
