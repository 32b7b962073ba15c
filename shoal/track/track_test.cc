#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "shoal/track/assignment.h"
#include "shoal/track/tracker.h"

namespace shoal::track {
namespace {

using detect::Box;
using detect::Detection;

// The least sum by all permutations.
double least_sum(const Costs& costs) {
  const bool tall = costs.rows > costs.columns;
  std::vector<size_t> order(std::max(costs.rows, costs.columns));
  std::iota(order.begin(), order.end(), 0);
  double best = 1e18;
  do {
    double sum = 0;
    for (size_t i = 0; i < std::min(costs.rows, costs.columns); ++i) {
      sum += tall ? costs.at(order[i], i) : costs.at(i, order[i]);
    }
    best = std::min(best, sum);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

TEST(Assignment, IsTheBestOfAll) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> cost(-1, 1);
  for (int round = 0; round < 300; ++round) {
    Costs costs{.rows = 1 + rng() % 6, .columns = 1 + rng() % 6};
    for (size_t i = 0; i < costs.rows * costs.columns; ++i) costs.values.push_back(cost(rng));
    const auto column_of = assign(costs, 1e9);
    std::set<size_t> given;
    double sum = 0;
    for (size_t r = 0; r < costs.rows; ++r) {
      if (column_of[r] == kUnassigned) continue;
      EXPECT_TRUE(given.insert(column_of[r]).second);
      sum += costs.at(r, column_of[r]);
    }
    EXPECT_EQ(given.size(), std::min(costs.rows, costs.columns));
    EXPECT_NEAR(sum, least_sum(costs), 1e-9);
  }
}

TEST(Assignment, TakesPairsApartThatCostTooMuch) {
  const Costs costs{.rows = 2, .columns = 2, .values = {0.1, 5, 5, 0.9}};
  EXPECT_EQ(assign(costs, 0.5), (std::vector<size_t>{0, kUnassigned}));
  EXPECT_TRUE(assign({}, 1).empty());
  EXPECT_EQ(assign({.rows = 2, .columns = 0}, 1), (std::vector<size_t>(2, kUnassigned)));
}

// Two objects that walk towards each other, meet, and go on.
std::vector<Detection> walkers(int frame, float score_of_second = 0.9F) {
  const auto at = [](float x, float y) { return Box{x - 10, y - 20, x + 10, y + 20}; };
  const auto t = static_cast<float>(frame);
  return {{0, 0.9F, at(20 + 4 * t, 50), {}}, {0, score_of_second, at(220 - 4 * t, 58), {}}};
}

TEST(Tracker, KeepsIdentitiesWhenObjectsPassEachOther) {
  Tracker tracker;
  for (int frame = 0; frame < 50; ++frame) {
    const auto shown = tracker.update(walkers(frame));
    if (frame < 2) continue;
    ASSERT_EQ(shown.size(), 2u) << frame;
    for (const Track& track : shown) {
      const Box& box = track.detection.box;
      const Box wanted = walkers(frame)[track.id == 1 ? 0 : 1].box;
      EXPECT_GT(detect::overlap(box, wanted), 0.7F) << frame << ", track " << track.id;
    }
  }
}

// An object that is half hidden has a low score for a while.
TEST(Tracker, KeepsWhatIsHalfHidden) {
  const auto ids_with = [](Association association) {
    Tracker tracker({.association = association, .patience = 5});
    std::set<int64_t> ids;
    for (int frame = 0; frame < 60; ++frame) {
      const bool hidden = frame >= 20 && frame < 40;
      for (const Track& track : tracker.update(walkers(frame, hidden ? 0.3F : 0.9F))) {
        ids.insert(track.id);
      }
    }
    return ids.size();
  };
  EXPECT_EQ(ids_with(Association::kTwoScores), 2u);
  EXPECT_GT(ids_with(Association::kPlain), 2u);
}

TEST(Tracker, FollowsThroughFramesThatWereSkipped) {
  Tracker tracker;
  std::map<int64_t, int> seen;
  for (int frame = 0; frame < 60; frame += frame < 20 ? 1 : 4) {
    for (const Track& track : tracker.update(walkers(frame), frame <= 20 ? 1 : 4)) ++seen[track.id];
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST(Tracker, SaysWhereAnObjectShouldBe) {
  Tracker tracker;
  for (int frame = 0; frame < 20; ++frame) tracker.update(walkers(frame));
  EXPECT_TRUE(tracker.update({}).empty());
  const auto shown = tracker.update({}, 1, /*coast=*/5);
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_FALSE(shown[0].seen);
  EXPECT_GT(detect::overlap(shown[0].detection.box, walkers(21)[0].box), 0.7F);
}

TEST(Tracker, ExpectsWhatItSawWhereItGoes) {
  Tracker tracker;
  for (int frame = 0; frame < 20; ++frame) tracker.update(walkers(frame));
  auto found = walkers(20);
  found[1] = {0, 0.9F, {500, 0, 520, 40}, {}};  // another object, and the second one hidden
  tracker.update(found);
  const auto expected = tracker.expected(4);
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(expected[0].id, 1);
  EXPECT_GT(detect::overlap(expected[0].detection.box, walkers(24)[0].box), 0.8F);
  EXPECT_EQ(expected[1].id, 0);  // seen once
  EXPECT_EQ(tracker.expected(0)[0].detection.box, found[0].box);
}

TEST(Tracker, ForgetsWhatIsGoneAndWhatWasNeverConfirmed) {
  Tracker tracker({.patience = 3});
  for (int frame = 0; frame < 5; ++frame) tracker.update(walkers(frame));
  for (int frame = 0; frame < 5; ++frame) tracker.update({});
  int64_t least = 100;
  tracker.update(walkers(10));
  for (const Track& track : tracker.update(walkers(11))) least = std::min(least, track.id);
  EXPECT_EQ(least, 3);  // new identities
  Tracker flicker;
  EXPECT_TRUE(flicker.update(walkers(0)).empty());
  EXPECT_TRUE(flicker.update({}, 1, 9).empty());
}

TEST(Tracker, NeverMixesClasses) {
  Tracker tracker;
  auto found = walkers(0);
  tracker.update(found);
  tracker.update(found);
  for (Detection& one : found) one.label = 7;
  EXPECT_TRUE(tracker.update(found).empty());
}

}  // namespace
}  // namespace shoal::track
