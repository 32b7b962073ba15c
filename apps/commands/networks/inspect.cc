#include "apps/commands/networks/inspect.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <span>

#include "shoal/engine/device/memory_plan.h"

namespace shoal {
namespace {

Json to_json(const KernelTiming& timing) {
  if (timing.runner_up.empty()) return {};
  return {{"us", timing.microseconds},
          {"runner_up", timing.runner_up},
          {"runner_up_us", timing.runner_up_microseconds}};
}

}  // namespace

ActivationBytes activation_bytes(const Graph& optimized) {
  const MemoryPlan plan = plan_memory(optimized);
  return {plan.arena_bytes + plan.caller_bytes, plan.live_bytes + plan.caller_bytes};
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

std::string describe(const KernelInfo& kernel) {
  const KernelTiming& timing = kernel.timing;
  if (timing.runner_up.empty()) return kernel.name;
  return kernel.name + " " + fixed(timing.runner_up_microseconds / timing.microseconds, 1) + "x " +
         timing.runner_up;
}

Json to_json(const LayerProfile& profile) {
  Json list = Json::array();
  std::map<std::string, double> by_kernel = profile.ms_by_kernel();
  by_kernel.insert({{"reference", 0}, {"reorder", 0}});
  for (const LayerTime& layer : profile.layers) {
    list.push_back({{"node", layer.name},
                    {"operator", layer.op},
                    {"kernel", layer.kernel.name},
                    {"tuning", to_json(layer.kernel.timing)},
                    {"output", layer.output},
                    {"macs", layer.macs},
                    {"median_ms", layer.median_ms}});
  }
  return {{"layers", std::move(list)}, {"by_kernel", by_kernel}, {"total_ms", profile.total_ms()}};
}

std::vector<Facts> rows_of(const LayerProfile& profile, size_t most) {
  std::vector<LayerTime> layers = profile.layers;
  if (most < SIZE_MAX) std::ranges::stable_sort(layers, std::greater(), &LayerTime::median_ms);
  layers.resize(std::min(layers.size(), most));
  const double total = profile.total_ms();
  std::vector<Facts> rows;
  for (const LayerTime& layer : layers) {
    const double rate = static_cast<double>(layer.macs) / layer.median_ms / 1e6;
    rows.push_back({{"node", layer.name, "node"},
                    {"operator", layer.op, "operator"},
                    {"kernel", describe(layer.kernel), "kernel"},
                    {"output", layer.output, "output"},
                    {"median_ms", layer.median_ms, "ms", 3},
                    {"share", 100 * layer.median_ms / total, "share", 1, " %"},
                    {"gmacs_per_s", rate, "GMAC/s", layer.macs > 0 ? fixed(rate, 1) : ""}});
  }
  return rows;
}

Table table_of(const LayerProfile& profile, size_t most) {
  const double total = profile.total_ms();
  Table table = shoal::table_of(rows_of(profile, most),
                                {"node", "operator", "kernel", "output", "ms", "share", "GMAC/s"});
  table.add_rule();
  if (profile.layers.size() > most) {
    const double left = total - profile.slowest_ms(most);
    table.add({std::to_string(profile.layers.size() - most) + " more", "", "", "", fixed(left, 3),
               fixed(100 * left / total, 1) + " %", ""});
  }
  table.add({"total", "", "", "", fixed(total, 3), "", ""});
  return table;
}

Json to_perfetto(const LayerProfile& profile) {
  using Micro = std::chrono::duration<double, std::micro>;
  Json events = Json::array();
  for (const LayerEvent& event : profile.events) {
    const LayerTime& layer = profile.layers[event.layer];
    events.push_back(
        {{"name", layer.name},
         {"cat", layer.op},
         {"ph", "X"},
         {"ts", Micro(event.begin).count()},
         {"dur", Micro(event.end - event.begin).count()},
         {"pid", 1},
         {"tid", 1},
         {"args",
          Json{{"kernel", layer.kernel.name}, {"output", layer.output}, {"macs", layer.macs}}}});
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace shoal
