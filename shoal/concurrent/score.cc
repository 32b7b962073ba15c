// Concurrency score: see score.h.
#include "shoal/concurrent/score.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::concurrent {

double Score::cs() const { return std::cbrt(delta * std::pow(lambda_prime, 1.5) * eta); }

Score score(const Workload& work, const Schedule& schedule, size_t units) {
  const Dag& dag = work.dag;
  std::vector<double> macs = work.macs;
  macs.front() = macs.back() = 0;
  std::vector<double> load(units, 0);
  Score score;
  double smallest = work.bytes[1];
  for (size_t v = 1; v < dag.sink(); ++v) {
    SHOAL_CHECK(macs[v] > 0 && work.bytes[v] > 0);
    load[schedule.placed[v].unit] += macs[v];
    smallest = std::min(smallest, work.bytes[v]);
    std::set<size_t> touched{schedule.placed[v].unit};
    for (size_t to : dag.successors[v]) touched.insert(schedule.placed[to].unit);
    score.lambda += work.bytes[v] * static_cast<double>(touched.size() - 1);
  }
  const double n = static_cast<double>(units);
  const double mean = std::accumulate(macs.begin(), macs.end(), 0.0) / n;
  score.eta = longest_path(dag, macs) / mean;
  score.delta = *std::max_element(load.begin(), load.end()) / mean;
  score.lambda_prime = score.lambda / (smallest * n);
  return score;
}

}  // namespace shoal::concurrent
