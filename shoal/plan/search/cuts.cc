#include "shoal/plan/search/cuts.h"

#include <algorithm>
#include <set>

namespace shoal::plan {
namespace {

// As last_reads, but outputs that no node reads do not prevent a cut.
std::vector<size_t> last_readers(const Graph& graph) {
  std::vector<size_t> last(graph.value_count(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].inputs) {
      if (id != kNoValue) last[static_cast<size_t>(id)] = i + 1;
    }
  }
  return last;
}

bool reads_only_constants(const Graph& graph, const Node& node) {
  return std::ranges::all_of(
      node.inputs, [&](ValueId id) { return id == kNoValue || graph[id].constant.has_value(); });
}

}  // namespace

std::vector<size_t> last_reads(const Graph& graph) {
  std::vector<size_t> last = last_readers(graph);
  for (ValueId id : graph.outputs()) last[static_cast<size_t>(id)] = graph.nodes().size() + 1;
  return last;
}

std::vector<size_t> find_cuts(const Graph& graph, size_t most_live) {
  const std::vector<size_t> last = last_readers(graph);
  std::vector<size_t> cuts = {0};
  std::multiset<size_t> live;  // when the values so far are last read
  // The last reader of a value computed from constants alone. It is part of weights, which do not
  // travel.
  size_t weights_until = 0;
  for (ValueId id : graph.inputs()) live.insert(last[static_cast<size_t>(id)]);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for (ValueId id : node.outputs) {
      const size_t read = last[static_cast<size_t>(id)];
      live.insert(read);
      if (reads_only_constants(graph, node)) weights_until = std::max(weights_until, read);
    }
    live.erase(live.begin(), live.upper_bound(i + 1));
    // Values that are read after node i + 1, which follows the cut.
    const auto beyond_next = std::distance(live.upper_bound(i + 2), live.end());
    const bool few = static_cast<size_t>(beyond_next) <= most_live;
    if ((few && weights_until <= i + 1) || i + 1 == graph.nodes().size()) cuts.push_back(i + 1);
  }
  return cuts;
}

}  // namespace shoal::plan
