// shoal convert: ONNX in, ONNX out.
#include "apps/commands/networks/convert.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "apps/flags/json.h"
#include "exit_codes.h"
#include "model.h"
#include "preprocess_flags.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/onnx/export/sparse_storage.h"
#include "shoal/model/passes/passes.h"

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
  bool json = false;
  config::CompressSettings compress;
  PreprocessFlags preprocess;
  GivenFlags given;
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
  const compress::Method& method = *flags.compress.method;
  if (flags.json) return print_json(to_json(result, method, file));
  std::fputs(text_of(result, method, file).c_str(), stderr);
}

Result<compress::CalibrationData> examples_for(const ConvertFlags& flags, const Graph& graph) {
  const config::ExampleSource source = example_source(flags.compress);
  Preprocess how;
  if (source != config::ExampleSource::kNone) {
    SHOAL_ASSIGN(how, flags.preprocess.resolve());
  }
  if (source == config::ExampleSource::kRandom) {
    std::fprintf(stderr,
                 "shoal: no --calibrate DIR: calibrating with random inputs, good for measuring "
                 "speed only\n");
  }
  return config::examples_for(flags.compress, graph, how);
}

Outcome compress_and_write(const ConvertFlags& flags, const LoadedGraph& loaded) {
  const config::CompressSettings& how = flags.compress;
  SHOAL_OR_EXIT(const compress::Target target, Exit::kUsage, compress::parse_target(how.target));
  SHOAL_OR_EXIT(compress::CalibrationData examples, Exit::kUsage,
                examples_for(flags, loaded.graph));
  const size_t count = examples.count;
  SHOAL_OR_EXIT(const auto device, Exit::kDevice,
                shoal::make_device(how.device, {.cpu = cpu_options(how)}));
  ProgressBar progress("calibrating", count);
  const auto result = how.method->run(
      loaded.graph, {*device, std::move(examples), [&progress](size_t i) { progress.at(i); },
                     target, int8_options(how)});
  if (!result.ok()) return fail(Doing::kUseData, result.status().at(flags.model));
  Outcome outcome = write(flags, result->graph, loaded.outputs);
  if (outcome.exit == Exit::kOk) report(flags, *result, count);
  return outcome;
}

Outcome convert(const ConvertFlags& flags) {
  SHOAL_TRY_OR_EXIT(Exit::kUsage, check(flags.compress, flags.given));
  SHOAL_OR_EXIT(LoadedGraph loaded, Exit::kModel, load_graph(flags.model, flags.shapes));
  if (flags.compress.method != nullptr) return compress_and_write(flags, loaded);
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
           "--" + std::string(method.name), [&] { flags.compress.method = &method; },
           std::string(method.what))
        ->excludes(optimize);
  }
  all.add(settings_of(flags.compress));
  all.add_flag("--json", flags.json, "Report as JSON on stdout");
  flags.preprocess.add_to(command);
}

}  // namespace

void add_convert(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "convert", "Read a model, write it as ONNX opset 17", kExamples, convert);
  flags.given = command.given();
  command.add_option("model", flags.model, "ONNX file or zoo:NAME")->required();
  command.add_option("--out,--output,-o", flags.output, "The ONNX file to write")->required();
  command.add_option("--shape", flags.shapes, "NAME=1x3x224x224 for inputs of open size");
  const Option* optimize = command.add_flag("--optimize", flags.optimize, "Apply all passes first");
  command.add_flag("--sparse", flags.sparse,
                   "Write weights that are 0 for more than two thirds as sparse tensors: a smaller "
                   "file, the same time");
  add_methods(command, optimize, flags);
}

}  // namespace shoal::cli
