#include "shoal/engine/device/cut.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace shoal {
namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

// The phase of each node: see cut_graph(). The parity of a phase is its side, so that a node may
// only stay in the phase of an input or go to the next of its own parity. O(nodes + edges).
std::vector<size_t> phases_of(const Graph& graph, const std::vector<size_t>& sides, size_t start) {
  std::vector<size_t> of_value(graph.value_count(), 0), of_node;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    size_t phase = sides[n] == start ? 0 : 1;
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      const size_t before = of_value[index_of(id)];
      phase = std::max(phase, before + (before % 2 == phase % 2 ? 0 : 1));
    }
    for (ValueId id : node.outputs) of_value[index_of(id)] = phase;
    of_node.push_back(phase);
  }
  return of_node;
}

// The values that each part reads and gives. A value belongs to the part that computes it.
void find_values(const Graph& graph, std::vector<GraphPart>& parts) {
  std::vector<size_t> maker(graph.value_count(), kNever);  // part
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t n : parts[p].nodes) {
      for (ValueId id : graph.nodes()[n].outputs) maker[index_of(id)] = p;
    }
  }
  std::vector<bool> is_given(graph.value_count());
  const auto give = [&](ValueId id) {
    const size_t made_by = maker[index_of(id)];
    if (made_by == kNever || is_given[index_of(id)]) return;
    is_given[index_of(id)] = true;
    parts[made_by].gives.push_back(id);
  };
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t n : parts[p].nodes) {
      for (ValueId id : graph.nodes()[n].inputs) {
        if (id == kNoValue || graph[id].constant || maker[index_of(id)] == p) continue;
        if (std::ranges::find(parts[p].reads, id) != parts[p].reads.end()) continue;
        parts[p].reads.push_back(id);
        give(id);
      }
    }
  }
  std::ranges::for_each(graph.outputs(), give);
}

}  // namespace

std::vector<GraphPart> cut_graph(const Graph& graph, const std::vector<size_t>& sides) {
  SHOAL_CHECK(sides.size() == graph.nodes().size());
  std::vector<GraphPart> best;
  // With the other start a graph may have one part less. Ties go to device 0.
  for (const size_t start : {size_t{0}, size_t{1}}) {
    const std::vector<size_t> phases = phases_of(graph, sides, start);
    std::vector<GraphPart> parts;
    for (size_t n = 0; n < phases.size(); ++n) {
      parts.resize(std::max(parts.size(), phases[n] + 1));
      parts[phases[n]].side = sides[n];
      parts[phases[n]].nodes.push_back(n);
    }
    // Only the first phase can be empty: a phase follows from a node of the phase before.
    std::erase_if(parts, [](const GraphPart& part) { return part.nodes.empty(); });
    if (best.empty() || parts.size() < best.size()) best = std::move(parts);
  }
  find_values(graph, best);
  return best;
}

Result<Graph> graph_of_part(const Graph& graph, const GraphPart& part) {
  Graph joined;
  std::unordered_map<int32_t, ValueId> ids;
  for (ValueId id : part.reads) {
    ids[static_cast<int32_t>(id)] = joined.add_input(graph[id].name, graph[id].type);
  }
  const auto in_part = [&](ValueId id) -> ValueId {
    if (id == kNoValue) return kNoValue;
    const auto match = ids.find(static_cast<int32_t>(id));
    if (match != ids.end()) return match->second;
    const ValueId constant = joined.add_constant(graph[id].name, *graph[id].constant);
    return ids[static_cast<int32_t>(id)] = constant;
  };
  for (size_t n : part.nodes) {
    const Node& node = graph.nodes()[n];
    std::vector<ValueId> inputs;
    std::vector<std::string> names;
    for (ValueId id : node.inputs) inputs.push_back(in_part(id));
    for (ValueId id : node.outputs) names.push_back(graph[id].name);
    SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                 joined.add_node(*node.op, std::move(inputs), node.attributes, names, node.name));
    for (size_t i = 0; i < outputs.size(); ++i) {
      ids[static_cast<int32_t>(node.outputs[i])] = outputs[i];
    }
  }
  for (ValueId id : part.gives) joined.mark_output(ids.at(static_cast<int32_t>(id)));
  return joined;
}

}  // namespace shoal
