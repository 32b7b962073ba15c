// Dag: a directed acyclic graph with one source and one sink, the shape of a concurrent network
// before it has layers. A value.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace shoal::concurrent {

// Vertex 0 is the source, the last one the sink, and those between are inner vertices. Every edge
// leads to a larger number, so the numbers are a topological order. Every inner vertex has a
// predecessor and a successor.
struct Dag {
  std::vector<std::vector<size_t>> predecessors, successors;  // by vertex, in ascending order

  size_t size() const { return predecessors.size(); }
  size_t sink() const { return size() - 1; }

  friend bool operator==(const Dag&, const Dag&) = default;
};

// An edge of an undirected graph whose vertices count from 0.
using Edge = std::pair<size_t, size_t>;

// Directs every edge from the smaller to the larger number. The source feeds all vertices without a
// predecessor, and all without a successor feed the sink [Hadidi 2021, 5.2]. Inner vertex i + 1 is
// vertex i of the edges. REQUIRES: count > 0; the ends of an edge are different and below `count`;
// no edge is there twice.
Dag make_dag(size_t count, const std::vector<Edge>& edges);

// The largest sum of weights along a path. Weights are by vertex.
double longest_path(const Dag& dag, const std::vector<double>& weights);

}  // namespace shoal::concurrent
