#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "shoal/train/distributed/schedule/training_scheduler.h"

namespace shoal::learn {
namespace {

double slowest(const std::vector<int64_t>& shares, const std::vector<double>& seconds) {
  double most = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    most = std::max(most, static_cast<double>(shares[i]) * seconds[i]);
  }
  return most;
}

// Every split of `total`, from worker `at` on.
double best_of_all(std::vector<int64_t>& shares, size_t at, int64_t total,
                   const std::vector<double>& seconds) {
  if (at + 1 == seconds.size()) {
    shares[at] = total;
    return slowest(shares, seconds);
  }
  double best = 1e30;
  for (int64_t share = 0; share <= total; ++share) {
    shares[at] = share;
    best = std::min(best, best_of_all(shares, at + 1, total - share, seconds));
  }
  return best;
}

TEST(SharesOf, EndAsEarlyAsAnySplit) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> draw(0.1, 3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> seconds(1 + rng() % 4);
    for (double& s : seconds) s = draw(rng);
    const auto total = static_cast<int64_t>(rng() % 20);
    const std::vector<int64_t> shares = shares_of(seconds, total);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), total);
    std::vector<int64_t> other(seconds.size());
    EXPECT_NEAR(slowest(shares, seconds), best_of_all(other, 0, total, seconds), 1e-9);
  }
}

// B9: speeds of 1:2:4:8 give at least 95 % of their sum.
TEST(SharesOf, UseUnequalDevices) {
  const std::vector<double> seconds = {8, 4, 2, 1};
  const std::vector<int64_t> shares = shares_of(seconds, 128);
  EXPECT_GE(128 / slowest(shares, seconds), 0.95 * (1 + 0.5 + 0.25 + 0.125));
  EXPECT_EQ(shares_of(std::vector<double>{1, 1, 1}, 8), (std::vector<int64_t>{3, 3, 2}));
}

}  // namespace
}  // namespace shoal::learn
