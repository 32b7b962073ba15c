// shoal inspect: what is in a model and what it costs, without running it.
#include <cstdio>
#include <map>

#include "apps/flags/json.h"
#include "cli.h"
#include "model.h"
#include "shoal/device/memory_plan.h"
#include "shoal/graph/text.h"
#include "shoal/passes/passes.h"
#include "table.h"

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

// The caller's tensors count too: they are there from the first step to the last.
int64_t peak_of(const MemoryPlan& plan) { return plan.arena_bytes + plan.caller_bytes; }
int64_t bound_of(const MemoryPlan& plan) { return plan.live_bytes + plan.caller_bytes; }

void print_table(const Graph& graph, const MemoryPlan& memory) {
  Table table({"node", "operator", "output", "parameters", "MACs", "memory"});
  int64_t total_macs = 0;
  for (const Node& node : graph.nodes()) {
    const TensorType& type = graph[node.outputs[0]].type;
    const int64_t node_macs = macs(graph, node), weights = parameters(graph, node);
    total_macs += node_macs;
    table.add({node.name.empty() ? graph[node.outputs[0]].name : node.name,
               std::string(node.op->name), to_string(type), weights > 0 ? with_commas(weights) : "",
               node_macs > 0 ? with_commas(node_macs) : "",
               in_bytes(static_cast<long long>(type.bytes()))});
  }
  table.add_rule();
  table.add({std::to_string(graph.nodes().size()) + " nodes", "", "",
             with_commas(parameters(graph)), with_commas(total_macs), in_bytes(peak_of(memory))});
  table.print();
  for (ValueId id : graph.inputs()) {
    std::printf("input   %s %s\n", graph[id].name.c_str(), to_string(graph[id].type).c_str());
  }
  for (ValueId id : graph.outputs()) {
    std::printf("output  %s %s\n", graph[id].name.c_str(), to_string(graph[id].type).c_str());
  }
  std::printf("memory  %s planned for activations, %s at least\n",
              in_bytes(peak_of(memory)).c_str(), in_bytes(bound_of(memory)).c_str());
}

void print_graph(const Graph& graph, const MemoryPlan& memory) {
  std::map<std::string, size_t> operators;
  Json nodes = Json::array();
  int64_t total_macs = 0;
  for (const Node& node : graph.nodes()) {
    const std::string op(node.op->name);
    ++operators[op];
    total_macs += macs(graph, node);
    nodes.push_back({{"name", place_of(graph, node)},
                     {"operator", op},
                     {"output", to_string(graph[node.outputs[0]].type)},
                     {"macs", macs(graph, node)},
                     {"parameters", parameters(graph, node)}});
  }
  auto values = [&](std::span<const ValueId> ids) {
    Json list = Json::array();
    for (ValueId id : ids) {
      list.push_back({{"name", graph[id].name}, {"type", to_string(graph[id].type)}});
    }
    return list;
  };
  const Json result = {{"parameters", parameters(graph)},
                       {"macs", total_macs},
                       {"peak_activation_bytes", peak_of(memory)},
                       {"lower_bound_bytes", bound_of(memory)},
                       {"operators", operators},
                       {"inputs", values(graph.inputs())},
                       {"outputs", values(graph.outputs())},
                       {"nodes", nodes}};
  print_json(result);
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
  const MemoryPlan memory = plan_memory(optimized);
  if (flags.text) {
    std::printf("%s", to_text(graph).c_str());
  } else if (flags.json) {
    print_graph(graph, memory);
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
