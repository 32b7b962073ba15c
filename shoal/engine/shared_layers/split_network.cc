#include "shoal/engine/shared_layers/split_network.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "shoal/engine/device/cut.h"

namespace shoal::prefix {
namespace {

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

// For each value that is no constant, the node that makes it and the last that reads it. Inputs are
// made before the first node; outputs are read after the last.
struct Lives {
  std::vector<size_t> made, read;

  explicit Lives(const Graph& graph) : made(graph.value_count(), 0), read(graph.value_count(), 0) {
    const auto nodes = graph.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (ValueId id : nodes[n].outputs) made[index_of(id)] = n + 1;
      for (ValueId id : nodes[n].inputs) {
        if (id != kNoValue && !graph[id].constant) read[index_of(id)] = n + 1;
      }
    }
    for (ValueId id : graph.outputs()) read[index_of(id)] = nodes.size() + 1;
  }

  // The values that cross a cut after this number of nodes.
  std::vector<ValueId> crossing(size_t nodes) const {
    std::vector<ValueId> ids;
    for (size_t v = 0; v < made.size(); ++v) {
      if (made[v] <= nodes && read[v] > nodes) ids.push_back(static_cast<ValueId>(v));
    }
    return ids;
  }
};

int64_t bytes_of(const Graph& graph, const std::vector<ValueId>& ids) {
  int64_t sum = 0;
  for (ValueId id : ids) sum += static_cast<int64_t>(graph[id].type.bytes());
  return sum;
}

// Whether these cross a cut that can be made: no input of the network, and no output.
bool is_cut(const Graph& graph, const std::vector<ValueId>& crossing) {
  const auto is_among = [](std::span<const ValueId> all, ValueId id) {
    return std::ranges::find(all, id) != all.end();
  };
  return !crossing.empty() && std::ranges::none_of(crossing, [&](ValueId id) {
    return is_among(graph.inputs(), id) || is_among(graph.outputs(), id) ||
           graph[id].constant.has_value();
  });
}

}  // namespace

Work work_of(const Graph& graph) {
  Work work;
  std::set<ValueId> constants;
  for (const Node& node : graph.nodes()) {
    work.macs += macs(graph, node);
    for (ValueId id : node.inputs) {
      if (id != kNoValue && graph[id].constant && constants.insert(id).second) {
        work.bytes += static_cast<int64_t>(graph[id].type.bytes());
      }
    }
  }
  return work;
}

std::vector<SplitPoint> split_points(const Graph& network) {
  const Lives lives(network);
  const auto nodes = network.nodes();
  int64_t least = 0;
  for (ValueId id : network.inputs()) least += static_cast<int64_t>(network[id].type.bytes());
  std::vector<SplitPoint> points;
  std::set<ValueId> constants;
  Work first;
  for (size_t n = 0; n + 1 < nodes.size(); ++n) {
    first.macs += macs(network, nodes[n]);
    for (ValueId id : nodes[n].inputs) {
      if (id != kNoValue && network[id].constant && constants.insert(id).second) {
        first.bytes += static_cast<int64_t>(network[id].type.bytes());
      }
    }
    const std::vector<ValueId> crossing = lives.crossing(n + 1);
    const int64_t bytes = bytes_of(network, crossing);
    if (!is_cut(network, crossing) || bytes >= least) continue;
    least = bytes;
    points.push_back({.nodes = n + 1, .first = first, .sent_bytes = bytes});
  }
  return points;
}

Result<SplitNetwork> split_after(const Graph& network, size_t nodes) {
  const size_t all = network.nodes().size();
  const Lives lives(network);
  const std::vector<ValueId> crossing = lives.crossing(std::min(nodes, all));
  if (nodes == 0 || nodes >= all || !is_cut(network, crossing)) {
    return invalid("the network cannot be cut after " + std::to_string(nodes) + " nodes");
  }
  GraphPart first, rest;
  first.nodes.resize(nodes);
  std::iota(first.nodes.begin(), first.nodes.end(), size_t{0});
  rest.nodes.resize(all - nodes);
  std::iota(rest.nodes.begin(), rest.nodes.end(), nodes);
  first.reads.assign(network.inputs().begin(), network.inputs().end());
  first.gives = rest.reads = crossing;
  rest.gives.assign(network.outputs().begin(), network.outputs().end());
  SplitNetwork split;
  SHOAL_ASSIGN(split.first, graph_of_part(network, first));
  SHOAL_ASSIGN(split.rest, graph_of_part(network, rest));
  split.sent_bytes = bytes_of(network, crossing);
  return split;
}

}  // namespace shoal::prefix
