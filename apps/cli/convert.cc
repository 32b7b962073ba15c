// shoal convert: ONNX in, ONNX out.
#include "cli.h"
#include "model.h"
#include "shoal/onnx/export.h"
#include "shoal/passes/passes.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal convert old.onnx -o new.onnx                     bring any opset to 17, shapes inferred
  shoal convert model.onnx -o fast.onnx --optimize       and apply all passes
  shoal convert model.onnx -o m.onnx --shape x=1x3x224x224   fix open sizes (default: 1))";

struct ConvertFlags {
  std::string model;
  std::string output;
  std::vector<std::string> shapes;
  bool optimize = false;
};

Outcome convert(const ConvertFlags& flags) {
  SHOAL_OR_EXIT(LoadedGraph loaded, Exit::kModel, load_graph(flags.model, flags.shapes));
  auto& [graph, outputs] = loaded;
  if (flags.optimize) {
    SHOAL_OR_EXIT(graph, Exit::kModel, passes::optimize(graph));
  }
  if (Status written = onnx::write_onnx(graph, flags.output, outputs); !written.ok()) {
    return fail(written.code() == Code::kUnsupported ? Exit::kModel : Exit::kResources, written);
  }
  return {};
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
  command->callback([flags, &action] { action = [flags] { return convert(*flags); }; });
}

}  // namespace shoal::cli
