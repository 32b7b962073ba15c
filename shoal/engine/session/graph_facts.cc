#include "shoal/engine/session/graph_facts.h"

#include <map>
#include <span>

#include "shoal/engine/device/memory_plan.h"

namespace shoal {

ActivationBytes activation_bytes(const Graph& optimized) {
  const MemoryPlan plan = plan_memory(optimized);
  return {plan.arena_bytes + plan.caller_bytes, plan.live_bytes + plan.caller_bytes};
}

int64_t total_macs(const Graph& graph) {
  int64_t total = 0;
  for (const Node& node : graph.nodes()) total += macs(graph, node);
  return total;
}

std::vector<Facts> node_rows(const Graph& graph) {
  const auto or_nothing = [](int64_t count) { return count > 0 ? with_commas(count) : ""; };
  std::vector<Facts> rows;
  for (const Node& node : graph.nodes()) {
    const TensorType& type = graph[node.outputs[0]].type;
    const int64_t products = macs(graph, node), weights = parameters(graph, node);
    rows.push_back({{"name", place_of(graph, node), "node",
                     node.name.empty() ? graph[node.outputs[0]].name : node.name},
                    {"operator", std::string(node.op->name), "operator"},
                    {"output", to_string(type), "output"},
                    {"parameters", weights, "parameters", or_nothing(weights)},
                    {"macs", products, "MACs", or_nothing(products)},
                    shown("memory", in_bytes(static_cast<long long>(type.bytes())))});
  }
  return rows;
}

Json to_json(const Graph& graph, const ActivationBytes& memory) {
  std::map<std::string, size_t> operators;
  for (const Node& node : graph.nodes()) ++operators[std::string(node.op->name)];
  const auto values = [&](std::span<const ValueId> ids) {
    Json list = Json::array();
    for (const ValueId id : ids) {
      list.push_back({{"name", graph[id].name}, {"type", to_string(graph[id].type)}});
    }
    return list;
  };
  return {{"parameters", parameters(graph)},
          {"macs", total_macs(graph)},
          {"peak_activation_bytes", memory.peak},
          {"lower_bound_bytes", memory.lower_bound},
          {"operators", operators},
          {"inputs", values(graph.inputs())},
          {"outputs", values(graph.outputs())},
          {"nodes", list_of(node_rows(graph))}};
}

std::string values_text(const Graph& graph, const ActivationBytes& memory) {
  std::string text;
  const auto add = [&](const char* what, ValueId id) {
    text += what + graph[id].name + " " + to_string(graph[id].type) + "\n";
  };
  for (const ValueId id : graph.inputs()) add("input   ", id);
  for (const ValueId id : graph.outputs()) add("output  ", id);
  return text + "memory  " + in_bytes(memory.peak) + " planned for activations, " +
         in_bytes(memory.lower_bound) + " at least\n";
}

Table table_of(const Graph& graph, const ActivationBytes& memory) {
  Table table = shoal::table_of(node_rows(graph),
                                {"node", "operator", "output", "parameters", "MACs", "memory"});
  table.add_rule();
  table.add({std::to_string(graph.nodes().size()) + " nodes", "", "",
             with_commas(parameters(graph)), with_commas(total_macs(graph)),
             in_bytes(memory.peak)});
  return table;
}

Table table_of(const std::vector<passes::Report>& reports) {
  Table table({"pass", "nodes before", "after", "", "ms"});
  for (const passes::Report& report : reports) {
    const auto more =
        static_cast<long long>(report.nodes_after) - static_cast<long long>(report.nodes_before);
    table.add({std::string(report.pass), std::to_string(report.nodes_before),
               std::to_string(report.nodes_after),
               more != 0        ? with_commas(more)
               : report.changed ? "changed"
                                : "",
               fixed(report.seconds * 1e3, 2)});
  }
  return table;
}

}  // namespace shoal
