// Concurrency score: see dag_score.h.
#include "shoal/shrink/search/dag_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::concurrent {

double Score::cs() const { return std::cbrt(delta * std::pow(lambda_prime, 1.5) * eta); }

double Score::seconds(const Units& units) const {
  return std::max(eta, delta) * share / units.macs_per_second +
         lambda / (static_cast<double>(units.count) * units.bytes_per_second);
}

Score score(const Workload& work, const Partition& partition, size_t units) {
  const Dag& dag = work.dag;
  std::vector<double> macs = work.macs;
  macs.front() = macs.back() = 0;
  std::vector<double> load(units, 0);
  Score score;
  score.lambda = cut_bytes(work, partition);
  double smallest = work.bytes[1];
  for (size_t v = 1; v < dag.sink(); ++v) {
    SHOAL_CHECK(macs[v] > 0 && work.bytes[v] > 0);
    load[partition[v]] += macs[v];
    smallest = std::min(smallest, work.bytes[v]);
  }
  const double n = static_cast<double>(units);
  const double mean = std::accumulate(macs.begin(), macs.end(), 0.0) / n;
  score.share = mean;
  score.eta = longest_path(dag, macs) / mean;
  score.delta = *std::max_element(load.begin(), load.end()) / mean;
  score.lambda_prime = score.lambda / (smallest * n);
  return score;
}

Score best_score(const Workload& work, size_t units) {
  Score best;
  bool first = true;
  for (const double balance : {1.0, 1.25, 1.5}) {
    const Score other = score(work, partition(work, units, balance), units);
    if (std::exchange(first, false) || other.cs() < best.cs()) best = other;
  }
  return best;
}

}  // namespace shoal::concurrent
