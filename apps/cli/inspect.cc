// shoal inspect: what is in a model and what it costs, without running it.
#include <cstdio>

#include "cli.h"
#include "facts.h"
#include "model.h"
#include "shoal/graph/text.h"
#include "shoal/models/graph_facts.h"
#include "shoal/passes/passes.h"

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

void print_table(const Graph& graph, const ActivationBytes& memory) {
  Table table =
      table_of(node_rows(graph), {"node", "operator", "output", "parameters", "MACs", "memory"});
  table.add_rule();
  table.add({std::to_string(graph.nodes().size()) + " nodes", "", "",
             with_commas(parameters(graph)), with_commas(total_macs(graph)),
             in_bytes(memory.peak)});
  table.print();
  std::fputs(values_text(graph, memory).c_str(), stdout);
}

void print_passes(const std::vector<passes::Report>& reports) {
  Table table({"pass", "nodes before", "after", "", "ms"});
  for (const passes::Report& r : reports) {
    const auto gone =
        static_cast<long long>(r.nodes_before) - static_cast<long long>(r.nodes_after);
    table.add({std::string(r.pass), std::to_string(r.nodes_before), std::to_string(r.nodes_after),
               gone != 0   ? with_commas(-gone)
               : r.changed ? "changed"
                           : "",
               fixed(r.seconds * 1e3, 2)});
  }
  table.print();
}

Outcome inspect(const InspectFlags& flags) {
  SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, load_graph(flags.model, flags.shapes));
  std::vector<passes::Report> reports;
  SHOAL_OR_EXIT(Graph optimized, Exit::kModel, passes::optimize(loaded.graph, &reports));
  if (flags.show_passes) {
    print_passes(reports);
    return {};
  }
  // Memory is that of the graph that runs, whichever is shown.
  const Graph& graph = flags.optimized ? optimized : loaded.graph;
  const ActivationBytes memory = activation_bytes(optimized);
  if (flags.text) {
    std::printf("%s", to_text(graph).c_str());
  } else if (flags.json) {
    print_json(to_json(graph, memory));
  } else {
    print_table(graph, memory);
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
