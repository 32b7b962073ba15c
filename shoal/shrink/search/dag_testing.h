// DAGs with costs for the tests of this part.
#pragma once

#include <random>
#include <vector>

#include "shoal/shrink/search/dag.h"
#include "shoal/shrink/search/dag_schedule.h"

namespace shoal::concurrent {

// Random costs on a random DAG.
struct RandomWork {
  Workload work;
  Units units;

  RandomWork(unsigned seed, size_t vertices, size_t most_units) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> uniform(0.1, 1);
    work.dag = *generate(ErdosRenyi{uniform(rng) / 2}, vertices, seed);
    for (size_t v = 0; v < work.dag.size(); ++v) {
      work.macs.push_back(uniform(rng));
      work.bytes.push_back(uniform(rng));
    }
    units = {.count = 1 + rng() % most_units,
             .macs_per_second = uniform(rng),
             .bytes_per_second = uniform(rng) * 4,
             .latency_seconds = uniform(rng) / 4};
  }
};

// Chains beside each other, with vertices numbered chain by chain.
inline std::vector<Edge> chain_edges(size_t chains, size_t length) {
  std::vector<Edge> edges;
  for (size_t v = 0; v < chains * length; ++v) {
    if (v % length != 0) edges.emplace_back(v - 1, v);
  }
  return edges;
}

inline Dag chains(size_t count, size_t length) {
  return make_dag(count * length, chain_edges(count, length));
}

}  // namespace shoal::concurrent
