#include "shoal/plan/cuts.h"

#include <set>

namespace shoal::plan {
namespace {

// As last_reads, but what only the caller reads holds nothing up.
std::vector<size_t> last_readers(const Graph& graph) {
  std::vector<size_t> last(graph.value_count(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].inputs) {
      if (id != kNoValue) last[static_cast<size_t>(id)] = i + 1;
    }
  }
  return last;
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
  for (ValueId id : graph.inputs()) live.insert(last[static_cast<size_t>(id)]);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].outputs) live.insert(last[static_cast<size_t>(id)]);
    live.erase(live.begin(), live.upper_bound(i + 1));
    if (live.size() <= most_live || i + 1 == graph.nodes().size()) cuts.push_back(i + 1);
  }
  return cuts;
}

}  // namespace shoal::plan
