#include "shoal/base/timing/contest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace shoal {
namespace {

// Holds a contest, in which contender i takes time(i), and returns how often each was timed.
std::vector<int> hold(Contest& contest, size_t contenders,
                      const std::function<double(size_t)>& time) {
  std::vector<int> runs(contenders);
  while (const auto next = contest.next()) {
    ++runs[*next];
    contest.add(*next, time(*next));
  }
  return runs;
}

TEST(Contest, TakesThreeRunsEachWhereThereIsNoNoise) {
  Contest contest(3);
  const std::vector<double> times = {30, 10, 12};
  EXPECT_EQ(hold(contest, 3, [&](size_t i) { return times[i]; }), std::vector<int>({3, 3, 3}));
  EXPECT_EQ(contest.winner(), 1u);
  EXPECT_EQ(contest.runner_up(), 2u);
  EXPECT_TRUE(contest.is_believed());
}

TEST(Contest, LetsContendersTakeTurns) {
  Contest contest(2);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(contest.next(), i % 2);
    contest.add(i % 2, 10);
  }
  EXPECT_EQ(contest.next(), std::nullopt);
}

TEST(Contest, CanTimeOneAfterTheOther) {
  Contest contest(2, Contest::Order::kOneByOne);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(contest.next(), i / 3);
    contest.add(i / 3, 10);
  }
  EXPECT_EQ(contest.next(), std::nullopt);
}

TEST(Contest, IsWonByTheFavouriteWhereOthersAreHardlyFaster) {
  for (const double other : {9.0, 9.9}) {
    Contest contest(2);
    hold(contest, 2, [&](size_t i) { return i == 0 ? 10 : other; });
    EXPECT_EQ(contest.winner(), other == 9.0 ? 1u : 0u);
  }
}

TEST(Contest, IsNotBelievedWhereNothingIsMetAgain) {
  Contest contest(2);
  double time = 100;
  const auto runs = hold(contest, 2, [&](size_t) { return time *= 0.96; });
  EXPECT_FALSE(contest.is_believed());
  EXPECT_EQ(runs, std::vector<int>({16, 16})) << "it ends all the same";
}

TEST(Contest, OfLongRunsEndsEarly) {
  Contest contest(2);
  double time = 1e6;
  EXPECT_EQ(hold(contest, 2, [&](size_t) { return time *= 0.8; }), std::vector<int>({2, 2}));
  EXPECT_FALSE(contest.is_believed());
}

// A machine that does other things: half of the runs take longer, some by a time slice.
TEST(Contest, FindsTheFastestBesideOtherPrograms) {
  int slow = 0;
  constexpr int kContests = 2000;
  for (int seed = 0; seed < kContests; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::uniform_real_distribution<double> one(0, 1);
    const std::vector<double> times = {50, 50 * (0.7 + 0.6 * one(random)), 65};
    Contest contest(3);
    hold(contest, 3, [&](size_t i) {
      const double luck = one(random);
      const double other = luck < 0.5 ? 0.01 * one(random) : luck < 0.9 ? one(random) : 0;
      return times[i] * (1 + other) + (luck >= 0.9 ? 4000 : 0);
    });
    if (times[contest.winner()] > 1.1 * std::ranges::min(times)) ++slow;
  }
  EXPECT_LT(slow, kContests / 200);
}

}  // namespace
}  // namespace shoal
