// shoal convert: ONNX in, ONNX out.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "calibrate.h"
#include "cli.h"
#include "model.h"
#include "preprocess_flags.h"
#include "shoal/onnx/export.h"
#include "shoal/passes/passes.h"
#include "table.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal convert old.onnx -o new.onnx                     bring any opset to 17, shapes inferred
  shoal convert model.onnx -o fast.onnx --optimize       and apply all passes
  shoal convert model.onnx -o m.onnx --shape x=1x3x224x224   fix open sizes (default: 1)
  shoal convert model.onnx --int8 --calibrate photos --preset imagenet -o int8.onnx
                                           8-bit weights and activations, their ranges seen on photos/
  shoal convert zoo:resnet50 --int8 -o int8.onnx         ranges of random inputs, to measure speed)";

struct ConvertFlags {
  std::string model;
  std::string output;
  std::vector<std::string> shapes;
  bool optimize = false;
  bool int8 = false;
  bool json = false;
  CalibrateFlags calibrate;
  PreprocessFlags preprocess;
};

Outcome write(const ConvertFlags& flags, const Graph& graph,
              const std::vector<std::string>& outputs) {
  Status written = onnx::write_onnx(graph, flags.output, outputs);
  if (written.ok()) return {};
  return fail(written.code() == Code::kUnsupported ? Exit::kModel : Exit::kResources, written);
}

void report(const ConvertFlags& flags, const Int8Graph& result) {
  std::error_code unknown;
  const auto bytes = static_cast<long long>(std::filesystem::file_size(flags.output, unknown));
  if (flags.json) {
    const nlohmann::json facts = {{"output", flags.output},
                                  {"bytes", bytes},
                                  {"examples", result.examples},
                                  {"products", result.products},
                                  {"quantized", result.quantized}};
    std::printf("%s\n", facts.dump().c_str());
  } else {
    std::fprintf(stderr, "%s: %zu of %zu products in 8 bits, %zu examples seen, %s\n",
                 flags.output.c_str(), result.quantized, result.products, result.examples,
                 in_bytes(bytes).c_str());
  }
}

Outcome convert_int8(ConvertFlags flags, const LoadedGraph& loaded) {
  SHOAL_OR_EXIT(flags.calibrate.preprocess, Exit::kUsage, flags.preprocess.resolve());
  auto result = quantize_calibrated(loaded.graph, flags.calibrate);
  if (!result.ok()) {
    const Code code = result.status().code();
    const bool is_usage = code == Code::kInvalidArgument || code == Code::kNotFound;
    return fail(is_usage ? Exit::kUsage : Exit::kResources, result.status());
  }
  if (result->quantized == 0) {
    return fail(Exit::kModel,
                invalid("no Conv, Gemm or MatMul with constant f32 weights in " + flags.model));
  }
  Outcome outcome = write(flags, result->graph, loaded.outputs);
  if (outcome.exit == Exit::kOk) report(flags, *result);
  return outcome;
}

Outcome convert(const ConvertFlags& flags) {
  SHOAL_OR_EXIT(LoadedGraph loaded, Exit::kModel, load_graph(flags.model, flags.shapes));
  if (flags.int8) return convert_int8(flags, loaded);
  if (flags.optimize) {
    SHOAL_OR_EXIT(loaded.graph, Exit::kModel, passes::optimize(loaded.graph));
  }
  return write(flags, loaded.graph, loaded.outputs);
}

void add_int8_flags(CLI::App& command, ConvertFlags& flags) {
  constexpr const char* kGroup = "8 bits";
  CLI::Option* int8 =
      command.add_flag("--int8", flags.int8, "Quantise: QuantizeLinear and DequantizeLinear (QDQ)")
          ->excludes("--optimize")
          ->group(kGroup);
  command
      .add_option("--calibrate", flags.calibrate.folder, "Images or .npy files to see ranges on")
      ->needs(int8)
      ->group(kGroup);
  command.add_option("--limit", flags.calibrate.limit, "Files to read at most")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str()
      ->needs(int8)
      ->group(kGroup);
  command.add_option("--threads", flags.calibrate.threads, "Threads to use; 0: one per core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->needs(int8)
      ->group(kGroup);
  command.add_flag("--json", flags.json, "Report as JSON on stdout")->needs(int8)->group(kGroup);
  flags.preprocess.add_to(command);
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command = app.add_subcommand("convert", "Read a model, write it as ONNX opset 17");
  command->footer(kExamples);
  command->add_option("model", flags->model, "ONNX file or zoo:NAME")->required();
  command->add_option("--output,-o", flags->output, "The ONNX file to write")->required();
  command->add_option("--shape", flags->shapes, "NAME=1x3x224x224 for inputs of open size");
  command->add_flag("--optimize", flags->optimize, "Apply all passes first");
  add_int8_flags(*command, *flags);
  command->callback([flags, &action] { action = [flags] { return convert(*flags); }; });
}

}  // namespace shoal::cli
