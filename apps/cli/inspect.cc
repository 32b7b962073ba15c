// shoal inspect: the contents of a model and its cost, without running it.
#include "apps/commands/networks/inspect.h"

#include "cli.h"
#include "facts.h"
#include "model.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/passes/passes.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal inspect model.onnx                      one row per node, totals below
  shoal inspect model.onnx --shape x=8x3x224x224
  shoal inspect model.onnx --passes             what each optimisation did
  shoal inspect model.onnx --optimized          the graph that really runs
  shoal inspect model.onnx --text               the graph as text
  shoal inspect zoo:vgg16 --json | jq .parameters)";

struct InspectFlags {
  std::string model;
  std::vector<std::string> shapes;
  bool json = false;
  bool text = false;
  bool optimized = false;
  bool show_passes = false;
};

Outcome inspect(const InspectFlags& flags) {
  SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, load_graph(flags.model, flags.shapes));
  std::vector<passes::Report> reports;
  SHOAL_OR_EXIT(Graph optimized, Exit::kModel, passes::optimize(loaded.graph, &reports));
  if (flags.show_passes) {
    table_of(reports).print();
    return {};
  }
  // Memory is that of the graph that runs, whichever is shown.
  const Graph& graph = flags.optimized ? optimized : loaded.graph;
  const ActivationBytes memory = activation_bytes(optimized);
  if (flags.text) {
    print_text(to_text(graph));
  } else if (flags.json) {
    print_json(to_json(graph, memory));
  } else {
    table_of(graph, memory).print();
    print_text(values_text(graph, memory));
  }
  return {};
}

}  // namespace

void add_inspect(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "inspect", "Show layers, shapes, parameters, MACs, memory", kExamples, inspect);
  command.add_option("model", flags.model, "ONNX file or zoo:NAME")->required();
  command.add_option("--shape", flags.shapes, "NAME=1x3x224x224 for inputs of open size");
  command.add_flag("--json", flags.json, "Print one JSON object");
  command.add_flag("--text", flags.text, "Print the graph as text");
  command.add_flag("--optimized", flags.optimized, "Show the graph after all passes");
  command.add_flag("--passes", flags.show_passes, "Show what each pass did");
}

}  // namespace shoal::cli
