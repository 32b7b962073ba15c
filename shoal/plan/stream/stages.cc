// Optimal stages by dynamic programming. best[s][u][c] is the least period of s stages over the
// first u workers that compute everything before cut c:
//
//   best[s][u][c] = min over k, b < c of max(best[s-1][u-k][b], period(workers u-k .. u-1, b, c))
//
// O(stages * workers * cuts^2 * most_workers). Optimal for the given order of workers; other orders
// are not tried.
#include "shoal/plan/stream/stages.h"

#include <algorithm>
#include <limits>

namespace shoal::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

StageFinder::StageFinder(const Graph& graph, const ClusterProfile& cluster,
                         std::vector<int> workers)
    : costs_(graph, cluster), cuts_(costs_.cuts()), workers_(std::move(workers)) {}

StageFinder::Row StageFinder::extended(const Row& before, size_t most_workers) const {
  Row after(workers_.size() + 1, std::vector<Choice>(cuts_.size(), {kNever, 0, 0}));
  for (size_t used = 0; used < workers_.size(); ++used) {
    for (size_t begin = 0; begin + 1 < cuts_.size(); ++begin) {
      if (before[used][begin].period == kNever) continue;
      for (size_t end = begin + 1; end < cuts_.size(); ++end) {
        double rate = 0;
        for (size_t count = 1; count <= std::min(most_workers, workers_.size() - used); ++count) {
          // Infinite periods, where memory is short, add a rate of 0.
          rate += 1 / costs_.period(workers_[used + count - 1], begin, end);
          const double slowest = std::max(before[used][begin].period, 1 / rate);
          Choice& best = after[used + count][end];
          if (slowest < best.period) best = {slowest, begin, count};
        }
      }
    }
  }
  return after;
}

std::optional<std::vector<Stage>> StageFinder::best(size_t stages, size_t most_workers) const {
  std::vector<Row> rows(
      1, Row(workers_.size() + 1, std::vector<Choice>(cuts_.size(), {kNever, 0, 0})));
  rows[0][0][0].period = 0;
  for (size_t s = 0; s < stages; ++s) rows.push_back(extended(rows.back(), most_workers));
  size_t used = 0, cut = cuts_.size() - 1;
  // Strictly better only: of equal periods, the one with fewest workers.
  for (size_t u = 1; u <= workers_.size(); ++u) {
    if (rows.back()[u][cut].period < rows.back()[used][cut].period) used = u;
  }
  if (rows.back()[used][cut].period == kNever) return std::nullopt;
  std::vector<Stage> found;
  // Back through the choices, from the last stage to the first.
  for (size_t s = stages; s > 0; --s) {
    const Choice& choice = rows[s][used][cut];
    const auto last = workers_.begin() + static_cast<long>(used);
    found.push_back(
        {{cuts_[choice.cut], cuts_[cut]}, {last - static_cast<long>(choice.workers), last}});
    used -= choice.workers;
    cut = choice.cut;
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace shoal::plan
