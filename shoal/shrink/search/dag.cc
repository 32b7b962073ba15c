// Directed acyclic graphs: see dag.h.
#include "shoal/shrink/search/dag.h"

#include <algorithm>

#include "shoal/base/status.h"

namespace shoal::concurrent {

Dag make_dag(size_t count, const std::vector<Edge>& edges) {
  SHOAL_CHECK(count > 0);
  Dag dag;
  dag.predecessors.resize(count + 2);
  dag.successors.resize(count + 2);
  const auto connect = [&](size_t from, size_t to) {
    dag.successors[from].push_back(to);
    dag.predecessors[to].push_back(from);
  };
  for (const auto& [a, b] : edges) {
    SHOAL_CHECK(a != b && a < count && b < count);
    connect(std::min(a, b) + 1, std::max(a, b) + 1);
  }
  for (size_t v = 1; v <= count; ++v) {
    if (dag.predecessors[v].empty()) connect(0, v);
    if (dag.successors[v].empty()) connect(v, dag.sink());
  }
  for (size_t v = 0; v < dag.size(); ++v) {
    std::sort(dag.predecessors[v].begin(), dag.predecessors[v].end());
    std::sort(dag.successors[v].begin(), dag.successors[v].end());
  }
  return dag;
}

double longest_path(const Dag& dag, const std::vector<double>& weights) {
  std::vector<double> longest(dag.size(), 0);  // of the paths that end in a vertex
  for (size_t v = 0; v < dag.size(); ++v) {
    for (size_t from : dag.predecessors[v]) longest[v] = std::max(longest[v], longest[from]);
    longest[v] += weights[v];
  }
  return longest.back();
}

}  // namespace shoal::concurrent
