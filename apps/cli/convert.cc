// shoal convert: ONNX in, ONNX out.
#include <cstdio>
#include <filesystem>
#include <utility>

#include "apps/flags/json.h"
#include "exit_codes.h"
#include "model.h"
#include "preprocess_flags.h"
#include "shoal/base/progress_bar.h"
#include "shoal/compress/facts.h"
#include "shoal/devices/devices.h"
#include "shoal/fit/calibration_files.h"
#include "shoal/onnx/export.h"
#include "shoal/onnx/sparse_storage.h"
#include "shoal/passes/passes.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal convert old.onnx -o new.onnx                     bring any opset to 17, shapes inferred
  shoal convert model.onnx -o fast.onnx --optimize       and apply all passes
  shoal convert model.onnx -o m.onnx --shape x=1x3x224x224   fix open sizes (default: 1)
  shoal convert model.onnx --int8 --calibrate photos --preset imagenet -o int8.onnx
                                           8-bit weights and activations, their ranges seen on photos/
  shoal convert zoo:resnet50 --int8 -o int8.onnx         ranges of random inputs, to measure speed
  shoal convert zoo:resnet50 --magnitude --target macs=0.4 -o small.onnx
                                           without the channels of the least weights, 40 % of the work
  shoal convert model.onnx --tucker --calibrate photos --preset imagenet -o small.onnx
                                           smaller convolutions, where they are faster on this machine)";

struct ConvertFlags {
  std::string model;
  std::string output;
  std::vector<std::string> shapes;
  bool optimize = false;
  bool sparse = false;
  const compress::Method* method = nullptr;  // null: none
  bool json = false;
  std::string folder;  // images and .npy files to calibrate with; empty: random inputs
  size_t limit = 100;  // files to read at most
  std::string target = "macs=0.5";
  std::string ranges = "auto";
  bool correct_bias = true;
  double real = compress::FallbackRule().most_work;
  std::string device = "cpu";
  int threads = 0;
  PreprocessFlags preprocess;
  const Command* command = nullptr;  // to ask which flags were given
};

Outcome write(const ConvertFlags& flags, const Graph& graph,
              const std::vector<std::string>& outputs) {
  Status written = flags.sparse ? onnx::write_sparse_onnx(graph, flags.output, outputs)
                                : onnx::write_onnx(graph, flags.output, outputs);
  if (written.ok()) return {};
  return fail(written.code() == Code::kUnsupported ? Exit::kModel : Exit::kResources, written);
}

void report(const ConvertFlags& flags, const compress::Compressed& result, size_t examples) {
  std::error_code unknown;
  const compress::WrittenFile file{
      flags.output, static_cast<int64_t>(std::filesystem::file_size(flags.output, unknown)),
      examples};
  if (flags.json) return print_json(to_json(result, *flags.method, file));
  std::fputs(text_of(result, *flags.method, file).c_str(), stderr);
}

Result<compress::CalibrationData> examples_for(const ConvertFlags& flags, const Graph& graph) {
  const unsigned needs = flags.method->needs;
  const unsigned read =
      flags.folder.empty() ? compress::kExamples : compress::kExamples | compress::kExamplesIfAny;
  if ((needs & read) == 0) return compress::CalibrationData();
  SHOAL_ASSIGN(const Preprocess how, flags.preprocess.resolve());
  if (!flags.folder.empty()) return fit::folder_examples(graph, flags.folder, flags.limit, how);
  std::fprintf(stderr,
               "shoal: no --calibrate DIR: calibrating with random inputs, good for measuring "
               "speed only\n");
  return compress::random_examples(graph);
}

Outcome compress_and_write(const ConvertFlags& flags, const LoadedGraph& loaded) {
  SHOAL_OR_EXIT(const compress::Target target, Exit::kUsage, compress::parse_target(flags.target));
  SHOAL_OR_EXIT(compress::CalibrationData examples, Exit::kUsage,
                examples_for(flags, loaded.graph));
  const size_t count = examples.count;
  // A method that measures time needs the kernels that a run will use; ranges do not, and are the
  // same every time only if the kernels are.
  const bool tunes = (flags.method->needs & compress::kSpeed) != 0;
  const CpuOptions cpu{
      .threads = flags.threads, .tune = tunes ? Tune::kFast : Tune::kOff, .remember = tunes};
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, shoal::make_device(flags.device, {.cpu = cpu}));
  compress::Int8Options int8{.ranges = compress::find_range_rule(flags.ranges),  // auto: none
                             .correct_bias = flags.correct_bias};
  // What random inputs would leave real says nothing.
  int8.fallback.most_work = flags.folder.empty() ? 0 : flags.real;
  ProgressBar progress("calibrating", count);
  const auto result = flags.method->run(
      loaded.graph,
      {*device, std::move(examples), [&progress](size_t i) { progress.at(i); }, target, int8});
  if (!result.ok()) return fail(Doing::kUseData, result.status().at(flags.model));
  Outcome outcome = write(flags, result->graph, loaded.outputs);
  if (outcome.exit == Exit::kOk) report(flags, *result, count);
  return outcome;
}

// Flags that only a method uses must not be given without one, nor those that this method does not
// read.
Status check(const ConvertFlags& flags) {
  constexpr unsigned kAny = ~0U, kSeeing = compress::kExamples | compress::kExamplesIfAny;
  for (const auto& [name, readers] :
       {std::pair("--calibrate", kSeeing), std::pair("--limit", kSeeing),
        std::pair("--target", unsigned{compress::kTarget}), std::pair("--device", kAny),
        std::pair("--threads", kAny), std::pair("--json", kAny)}) {
    if (flags.command->count(name) == 0) continue;
    if (flags.method == nullptr) {
      return invalid(std::string(name) + " is for a method of compression, and none was given");
    }
    if (readers != kAny && (flags.method->needs & readers) == 0) {
      return invalid("--" + std::string(flags.method->name) + " does not read " + name);
    }
  }
  for (const char* name : {"--ranges", "--bias-correction", "--real"}) {
    if (flags.command->count(name) > 0 &&
        (flags.method == nullptr || flags.method->name != "int8")) {
      return invalid(std::string(name) + " is for --int8");
    }
  }
  return {};
}

Outcome convert(const ConvertFlags& flags) {
  if (const Status fine = check(flags); !fine.ok()) return fail(Exit::kUsage, fine);
  SHOAL_OR_EXIT(LoadedGraph loaded, Exit::kModel, load_graph(flags.model, flags.shapes));
  if (flags.method != nullptr) return compress_and_write(flags, loaded);
  if (flags.optimize) {
    SHOAL_OR_EXIT(loaded.graph, Exit::kModel, passes::optimize(loaded.graph));
  }
  return write(flags, loaded.graph, loaded.outputs);
}

// One flag per method, and what the methods share.
void add_methods(Command& command, const Option* optimize, ConvertFlags& flags) {
  const FlagGroup all(command, "Compression");
  for (const compress::Method& method : compress::methods()) {
    all.add_flag(
           "--" + std::string(method.name), [&] { flags.method = &method; },
           std::string(method.what))
        ->excludes(optimize);
  }
  all.add_option("--calibrate", flags.folder, "Images or .npy files to see what values are like");
  all.add_setting("--limit", flags.limit, "Files to read at most", in_range(1, 1'000'000));
  all.add_setting("--target", flags.target,
                  "The share that stays, of macs, parameters, bytes or units: macs=0.5");
  all.add_setting(
      "--ranges", flags.ranges,
      "What int8 spends its steps on: minmax, percentile, mse, or auto (what is best on "
      "some of the files)",
      one_of({"auto", "minmax", "percentile", "mse"}));
  all.add_flag("--bias-correction,!--no-bias-correction", flags.correct_bias,
               "int8 puts the shift of means into biases, where that helps (default)");
  all.add_setting("--real", flags.real,
                  "Share of the work that int8 may leave as it is; without files: none",
                  in_range(0.0, 1.0));
  add_device_to(command, flags.device, "What runs the model on these files")->group("Compression");
  all.add_setting("--threads", flags.threads, "Threads to use; 0: one per core", in_range(0, 1024));
  all.add_flag("--json", flags.json, "Report as JSON on stdout");
  flags.preprocess.add_to(command);
}

}  // namespace

void add_convert(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "convert", "Read a model, write it as ONNX opset 17", kExamples, convert);
  flags.command = &command;
  command.add_option("model", flags.model, "ONNX file or zoo:NAME")->required();
  command.add_option("--output,-o", flags.output, "The ONNX file to write")->required();
  command.add_option("--shape", flags.shapes, "NAME=1x3x224x224 for inputs of open size");
  const Option* optimize = command.add_flag("--optimize", flags.optimize, "Apply all passes first");
  command.add_flag("--sparse", flags.sparse,
                   "Write weights that are 0 for more than two thirds as sparse tensors: a smaller "
                   "file, the same time");
  add_methods(command, optimize, flags);
}

}  // namespace shoal::cli
