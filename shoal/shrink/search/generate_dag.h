// Generators of random DAGs [Hadidi 2021, 5.2]. Each makes an undirected graph of N vertices, which
// make_dag() directs. The same generator, N and seed give the same DAG on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "shoal/base/status.h"
#include "shoal/shrink/search/dag.h"

namespace shoal::concurrent {

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
// edge with probability alpha p^(beta d). There are no stages, so no vertex waits for all others.
// An alpha near 1 joins all neighbours on the ring to one long chain.
struct DistanceProbability {
  double alpha = 0.2;
  double probability = 0.9;
  double beta = 1;
};

using Generator = std::variant<ErdosRenyi, BarabasiAlbert, WattsStrogatz, DistanceProbability>;

inline constexpr size_t kMostVertices = 4096;

// A DAG of `vertices` inner vertices. kInvalidArgument for parameters out of range.
Result<Dag> generate(const Generator& generator, size_t vertices, uint64_t seed);

// The control of the thesis: so many inner vertices in stages one after the other, each drawn by
// the generator. Between two stages stands a barrier, one of the vertices, which waits for all that
// the stage before gives. kInvalidArgument as above, and where a stage would have fewer than two
// vertices.
Result<Dag> generate_staged(const Generator& generator, size_t vertices, size_t stages,
                            uint64_t seed);

// The probability of an edge between i and j.
double edge_probability(const DistanceProbability& dp, size_t vertices, size_t i, size_t j);

}  // namespace shoal::concurrent
