#include "apps/commands/networks/convert.h"

#include "apps/commands/model_settings.h"
#include "shoal/base/text/number_text.h"
#include "shoal/shrink/retraining/calibration_files.h"

namespace shoal::config {
namespace {

constexpr unsigned kAnyMethod = ~0U;
constexpr unsigned kSeeing = compress::kExamples | compress::kExamplesIfAny;

// A flag, and what a method needs that reads it.
struct MethodFlag {
  const char* name;
  unsigned readers;
};
constexpr MethodFlag kMethodFlags[] = {
    {"--calibrate", kSeeing}, {"--limit", kSeeing},      {"--target", compress::kTarget},
    {"--device", kAnyMethod}, {"--threads", kAnyMethod}, {"--json", kAnyMethod},
};
constexpr const char* kInt8Flags[] = {"--ranges", "--bias-correction", "--real"};

}  // namespace

SettingList settings_of(CompressSettings& s) {
  return {
      Setting("calibrate", s.folder, "Images or .npy files to see what values are like"),
      Setting("limit", s.limit, "Files to read at most").in(1, 1'000'000),
      Setting("target", s.target,
              "The share that stays, of macs, parameters, bytes or units: macs=0.5"),
      Setting("ranges", s.ranges,
              "What int8 spends its steps on: minmax, percentile, mse, or auto (what is best on "
              "some of the files)")
          .one_of({"auto", "minmax", "percentile", "mse"}),
      Setting("bias-correction", s.correct_bias,
              "int8 puts the shift of means into biases, where that helps (default)"),
      Setting("real", s.real, "Share of the work that int8 may leave as it is; without files: none")
          .in(0, 1),
      device_setting(s.device, "What runs the model on these files"),
      Setting("threads", s.threads, "Threads to use; 0: one per core")
          .in(0, 1024)
          .showing_default(),
  };
}

Status check(const CompressSettings& settings, const GivenFlags& given) {
  const compress::Method* const method = settings.method;
  for (const auto& [name, readers] : kMethodFlags) {
    if (!given(name)) continue;
    if (method == nullptr) {
      return invalid(std::string(name) + " is for a method of compression, and none was given");
    }
    if (readers != kAnyMethod && (method->needs & readers) == 0) {
      return invalid("--" + std::string(method->name) + " does not read " + name);
    }
  }
  for (const char* name : kInt8Flags) {
    if (given(name) && (method == nullptr || method->name != "int8")) {
      return invalid(std::string(name) + " is for --int8");
    }
  }
  return {};
}

ExampleSource example_source(const CompressSettings& settings) {
  const bool in_folder = !settings.folder.empty();
  const unsigned read = in_folder ? kSeeing : unsigned{compress::kExamples};
  if ((settings.method->needs & read) == 0) return ExampleSource::kNone;
  return in_folder ? ExampleSource::kFolder : ExampleSource::kRandom;
}

Result<compress::CalibrationData> examples_for(const CompressSettings& settings, const Graph& graph,
                                               const Preprocess& how) {
  switch (example_source(settings)) {
    case ExampleSource::kFolder:
      return fit::folder_examples(graph, settings.folder, settings.limit, how);
    case ExampleSource::kRandom:
      return compress::random_examples(graph);
    case ExampleSource::kNone:
      break;
  }
  return compress::CalibrationData();
}

// A method that measures time needs the kernels that a run will use; ranges do not, and are the
// same every time only if the kernels are.
CpuOptions cpu_options(const CompressSettings& settings) {
  const bool tunes = (settings.method->needs & compress::kSpeed) != 0;
  return {.threads = settings.threads, .tune = tunes ? Tune::kFast : Tune::kOff, .remember = tunes};
}

// What random inputs would leave real says nothing.
compress::Int8Options int8_options(const CompressSettings& settings) {
  compress::Int8Options int8{.ranges = compress::find_range_rule(settings.ranges),  // auto: none
                             .correct_bias = settings.correct_bias};
  int8.fallback.most_work = settings.folder.empty() ? 0 : settings.real;
  return int8;
}

}  // namespace shoal::config

namespace shoal::compress {

Json to_json(const Compressed& result, const Method& method, const WrittenFile& file) {
  return {{"output", file.path},
          {"bytes", file.bytes},
          {"examples", file.examples},
          {std::string(method.parts), result.parts},
          {"compressed", result.compressed},
          {"left", result.left},
          {"notes", result.notes}};
}

std::string text_of(const Compressed& result, const Method& method, const WrittenFile& file) {
  std::string text = file.path + ": " + std::to_string(result.compressed) + " of " +
                     std::to_string(result.parts) + " " + std::string(method.parts) + " by " +
                     std::string(method.name) + ", " + std::to_string(file.examples) +
                     " examples seen, " + in_bytes(file.bytes) + "\n";
  for (const std::string& note : result.notes) text += note + "\n";
  for (const std::string& name : result.left) text += "stays as it was: " + name + "\n";
  return text;
}

}  // namespace shoal::compress
