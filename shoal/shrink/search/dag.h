// Dag: a directed acyclic graph with one source and one sink, the wiring of a concurrent network. A
// value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "shoal/base/math/draws.h"
#include "shoal/base/status.h"

namespace shoal::concurrent {

// Vertex 0 is the source, the last one the sink, the others are inner vertices, each with a
// predecessor and a successor. Edges lead to larger numbers, which are a topological order.
struct Dag {
  std::vector<std::vector<size_t>> predecessors, successors;  // by vertex, in ascending order

  size_t size() const { return predecessors.size(); }
  size_t sink() const { return size() - 1; }

  friend bool operator==(const Dag&, const Dag&) = default;
};

// An edge of an undirected graph whose vertices count from 0.
using Edge = std::pair<size_t, size_t>;

// Directs every edge to the larger number. The source feeds all vertices without a predecessor, and
// all without a successor feed the sink [Hadidi 2021, 5.2]. Inner vertex i + 1 is vertex i of the
// edges. REQUIRES: count > 0; the ends of an edge are different and below `count`; no edge occurs
// twice.
Dag make_dag(size_t count, const std::vector<Edge>& edges);

// The largest sum of weights along a path. Weights are by vertex.
double longest_path(const Dag& dag, const std::vector<double>& weights);

// Generators of random DAGs [Hadidi 2021, 5.2]. Each makes an undirected graph of N vertices, which
// make_dag() directs. The same generator, N and seed give the same DAG on every machine.

// Each pair of vertices has an edge with this probability: p N (N - 1) / 2 edges in the mean.
struct ErdosRenyi {
  double probability = 0.1;
};

// The first `edges` vertices have none. Each later one adds that many, to different earlier
// vertices, each chosen with a probability in proportion to its degree: edges (N - edges) in all.
struct BarabasiAlbert {
  size_t edges = 2;
};

// A ring in which each vertex is joined to neighbours / 2 on both sides. Each edge is then led to
// another vertex with this probability: N neighbours / 2 edges in all.
struct WattsStrogatz {
  size_t neighbours = 4;  // an even number
  double probability = 0.75;
};

// The thesis' DP. Vertices stand on a ring, d(i, j) = min(|i - j|, N - |i - j|), and a pair has an
// edge with probability alpha p^(beta d). No stages, so no barriers. An alpha near 1 makes one long
// chain of ring neighbours.
struct DistanceProbability {
  double alpha = 0.2;
  double probability = 0.9;
  double beta = 1;
};

using Generator = std::variant<ErdosRenyi, BarabasiAlbert, WattsStrogatz, DistanceProbability>;

inline constexpr size_t kMostVertices = 4096;

// A DAG of `vertices` inner vertices. kInvalidArgument for parameters out of range.
Result<Dag> generate(const Generator& generator, size_t vertices, uint64_t seed);

// The thesis' control: n inner vertices in consecutive stages drawn by the generator, with a vertex
// between two stages as a barrier that waits for the whole stage. kInvalidArgument as above, and if
// a stage would have fewer than two vertices.
Result<Dag> generate_staged(const Generator& generator, size_t vertices, size_t stages,
                            uint64_t seed);

// The probability of an edge between i and j.
double edge_probability(const DistanceProbability& dp, size_t vertices, size_t i, size_t j);

}  // namespace shoal::concurrent
