#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "shoal/video/track/assignment.h"
#include "shoal/video/track/box_motion.h"
#include "shoal/video/track/tracker.h"

namespace shoal::track {
namespace {

using detect::Box;
using detect::Detection;
using detect::Point;

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
    Tracker tracker({.association = association, .max_missed = 5});
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
  Tracker tracker({.max_missed = 3});
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
  for (Detection& detection : found) detection.label = 7;
  EXPECT_TRUE(tracker.update(found).empty());
}

// Random levels of grey, twice as large as what a camera at `left`, `top` sees of them.
class Texture {
 public:
  explicit Texture(std::mt19937& rng) : levels_(size_t{kSide} * kSide) {
    // Smooth, so that a displacement by half a square is between two whole ones.
    for (size_t i = 0; i < levels_.size(); ++i) levels_[i] = static_cast<double>(rng() % 256);
    for (int round = 0; round < 2; ++round) {
      for (size_t i = kSide + 1; i < levels_.size(); ++i) {
        levels_[i] = (levels_[i] + levels_[i - 1] + levels_[i - kSide]) / 3;
      }
    }
  }

  Tensor seen_from(int64_t left, int64_t top) const {
    Tensor image({DType::kU8, {kSide / 2, kSide / 2, 3}});
    uint8_t* to = image.data<uint8_t>().data();
    for (int64_t y = 0; y < kSide / 2; ++y) {
      for (int64_t x = 0; x < kSide / 2; ++x, to += 3) {
        std::fill_n(
            to, 3,
            static_cast<uint8_t>(levels_[static_cast<size_t>((y + top) * kSide + x + left)]));
      }
    }
    return image;
  }

 private:
  static constexpr int64_t kSide = 320;
  std::vector<double> levels_;
};

TEST(BoxMotion, IsThatOfTheTexture) {
  std::mt19937 rng(5);
  const Texture texture(rng);
  const Tensor then = texture.seen_from(40, 40);
  const Box box{60, 40, 95, 125};  // seen in squares of 2
  for (int round = 0; round < 100; ++round) {
    const auto x = static_cast<int64_t>(rng() % 21) - 10, y = static_cast<int64_t>(rng() % 9) - 4;
    const auto moved = box_motion(then, texture.seen_from(40 - x, 40 - y), box);
    ASSERT_TRUE(moved.has_value());
    EXPECT_NEAR(moved->x, static_cast<float>(x), 1) << x << ", " << y;
    EXPECT_NEAR(moved->y, static_cast<float>(y), 1) << x << ", " << y;
  }
  // Further than the search reaches, but with a guess.
  const auto far = box_motion(then, texture.seen_from(10, 30), box, {28, 9});
  EXPECT_NEAR(far->x, 30, 1);
  EXPECT_NEAR(far->y, 10, 1);
}

TEST(BoxMotion, IsTheGuessWhereNothingIsSeen) {
  Tensor flat({DType::kU8, {100, 120, 3}});
  std::ranges::fill(flat.data<uint8_t>(), uint8_t{90});
  const auto moved = box_motion(flat, flat, {40, 20, 75, 100}, {6, -4});
  ASSERT_TRUE(moved.has_value());
  EXPECT_NEAR(moved->x, 6, 1);
  EXPECT_NEAR(moved->y, -4, 1);
}

// Boxes come from networks, and from velocities that were learned from them.
TEST(BoxMotion, IsNoneOfWhatIsNotThere) {
  const Tensor image({DType::kU8, {60, 80, 3}}), other({DType::kU8, {60, 82, 3}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(box_motion(image, other, {10, 10, 40, 50}));
  EXPECT_FALSE(box_motion(Tensor(), image, {10, 10, 40, 50}));
  for (const Box& box : {Box{100, 10, 140, 50}, Box{-50, 10, -10, 50}, Box{10, 10, 11, 11},
                         Box{40, 10, 10, 50}, Box{nan, 10, 40, 50}, Box{10, 10, 1e30F, 50}}) {
    EXPECT_FALSE(box_motion(image, image, box));
  }
  EXPECT_FALSE(box_motion(image, image, {10, 10, 40, 50}, {nan, 0}));
  EXPECT_FALSE(box_motion(image, image, {10, 10, 40, 50}, {500, 0}));
  std::mt19937 rng(6);
  std::uniform_real_distribution<float> at(-100, 200);
  for (int round = 0; round < 1000; ++round) {
    box_motion(image, image, {at(rng), at(rng), at(rng), at(rng)}, {at(rng) / 4, at(rng) / 4});
  }
}

// An object that turns back between two looks is where the image says, and keeps its identity.
TEST(Tracker, FollowsWhatTheImageShows) {
  const auto run = [](bool follow) {
    Tracker tracker({.sure_score = 0.5F});
    tracker.update({{0, 0.9F, {100, 50, 120, 90}, {}}});
    tracker.update({{0, 0.9F, {110, 50, 130, 90}, {}}});
    Point at{110, 50};
    for (int frame = 0; frame < 5; ++frame) {
      const Motion motion = [&](const Box& box, const Point& guess) -> std::optional<Point> {
        EXPECT_EQ(box.left, at.x);
        EXPECT_EQ(guess.y, 0);
        return Point{-10, 0};
      };
      if (follow) tracker.follow(motion);
      at.x -= 10;
    }
    const Box now{at.x, at.y, at.x + 20, at.y + 40};
    if (follow) {
      EXPECT_EQ(tracker.expected(5)[0].detection.box, now);
      EXPECT_EQ(tracker.expected(0)[0].detection.box, (Box{110, 50, 130, 90}));
    }
    return tracker.update({{0, 0.9F, now, {}}}, 5)[0].id;
  };
  EXPECT_EQ(run(true), 1);
  EXPECT_EQ(run(false), 2);  // a control
}

// Where the image says nothing, tracks go on as the filter knows them.
TEST(Tracker, FollowsItsFilterWhereTheImageSaysNothing) {
  Tracker tracker;
  for (int frame = 0; frame < 20; ++frame) tracker.update(walkers(frame));
  const auto expected = tracker.expected(3);
  for (int frame = 0; frame < 3; ++frame) {
    tracker.follow([](const Box&, const Point&) { return std::optional<Point>(); });
  }
  const auto followed = tracker.expected(3);
  ASSERT_EQ(followed.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_GT(detect::overlap(followed[i].detection.box, expected[i].detection.box), 0.98F);
  }
}

}  // namespace
}  // namespace shoal::track
