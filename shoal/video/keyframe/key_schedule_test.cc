// Scheduling of key frames by motion: checks E7 to E9 of docs/references.md, and C5.
#include <gtest/gtest.h>

#include "shoal/video/keyframe/flow.h"
#include "shoal/video/keyframe/keyframe_testing.h"
#include "shoal/video/keyframe/pipeline.h"

namespace shoal::keyframe {
namespace {

TEST(KeySchedule, MapsMotionToIntervals) {
  for (const double high : {10.0, 20.0, 30.0}) {
    for (const size_t least : {5u, 10u, 15u}) {
      for (const size_t most : {20u, 30u, 40u}) {
        const KeyScheduleOptions options{.least = least, .most = most, .low = 1, .high = high};
        EXPECT_EQ(interval_for(0, options), most);
        EXPECT_EQ(interval_for(1, options), most);
        EXPECT_EQ(interval_for((1 + high) / 2, options), (least + most + 1) / 2);
        EXPECT_EQ(interval_for(high, options), least);
        EXPECT_EQ(interval_for(1000, options), least);
        for (double m = 0; m < 40; m += 0.1) {
          EXPECT_LE(interval_for(m + 0.1, options), interval_for(m, options));
        }
      }
    }
  }
}

TEST(KeySchedule, RefusesOptionsWithoutMeaning) {
  EXPECT_TRUE(check(KeyScheduleOptions{}).ok());
  EXPECT_FALSE(check(KeyScheduleOptions{.least = 0}).ok());
  EXPECT_FALSE(check(KeyScheduleOptions{.least = 9, .most = 8}).ok());
  EXPECT_FALSE(check(KeyScheduleOptions{.low = 5, .high = 5}).ok());
  EXPECT_FALSE(check(KeyScheduleOptions{.low = -1}).ok());
}

TEST(KeySchedule, BeginsWithAKeyFrameAndTakesOneWhereTheSceneIsCut) {
  KeySchedule schedule({.least = 3, .most = 8, .cut_residual = 30});
  std::vector<size_t> keys;
  for (size_t frame = 0; frame < 24; ++frame) {
    if (schedule.next({.mean = 0, .residual = frame == 13 ? 31.0 : 5.0})) keys.push_back(frame);
  }
  EXPECT_EQ(keys, (std::vector<size_t>{0, 8, 13, 21}));
}

Flow uniform(const Vector& by) {
  Flow flow = no_flow(64, 64);
  for (Vector& one : flow.vectors) one = by;
  return flow;
}

// Which frames are key frames where each has moved by this much since the one before.
std::vector<size_t> keys_of(const KeyScheduleOptions& options, std::span<const Vector> motion) {
  KeySchedule schedule(options);
  MotionSum sum;
  std::vector<size_t> keys;
  for (size_t frame = 0; frame < motion.size(); ++frame) {
    if (frame > 0) sum.add(uniform(motion[frame]));
    if (!schedule.next(sum.motion())) continue;
    keys.push_back(frame);
    sum.clear();
  }
  return keys;
}

TEST(MotionSum, AddsVectorsUntilAKeyFrame) {
  MotionSum sum;
  EXPECT_EQ(sum.motion().mean, 0);
  sum.add(uniform({3, 0}));
  sum.add(uniform({0, 4}));
  EXPECT_NEAR(sum.motion().mean, 5, 1e-6);
  sum.add(uniform({-3, -4}));  // back where it was
  EXPECT_NEAR(sum.motion().mean, 0, 1e-6);
  sum.add(uniform({7, 0}));
  sum.clear();
  EXPECT_EQ(sum.motion().mean, 0);
}

TEST(KeySchedule, IsStaticWhereMotionIsConstant) {
  for (const float speed : {0.0F, 0.5F, 1.0F, 2.0F, 3.0F, 9.0F}) {
    const std::vector<Vector> motion(200, {speed, 0});
    const std::vector<size_t> keys = keys_of({}, motion);
    ASSERT_GT(keys.size(), 2u);
    for (size_t i = 1; i < keys.size(); ++i) {
      EXPECT_EQ(keys[i] - keys[i - 1], keys[1]) << speed;
      EXPECT_GE(keys[1], KeyScheduleOptions{}.least);
    }
    // A static schedule of that interval has the same key frames.
    EXPECT_EQ(keys_of({.least = keys[1], .most = keys[1]}, motion), keys);
  }
}

constexpr int64_t kHeight = 96, kWidth = 128;
constexpr size_t kFrames = 120;

// Nothing moves in the first half; in the second the camera pans, and an object crosses the image.
SceneFrame half_static(size_t frame) {
  const auto fast = static_cast<int64_t>(frame > kFrames / 2 ? frame - kFrames / 2 : 0);
  return {.background_y = fast,
          .background_x = 3 * fast,
          .top = 24,
          .left = (5 * fast) % 128 - 20,
          .side = 40,
          .noise = 0.01F,
          .number = frame};
}

// The mean error of features that are warped from key frames, and how many of those there are.
class PropagatedError {
 public:
  PropagatedError() : device_(make_cpu_device({.threads = 1})) {
    const auto network = compile(*device_, stride16_network(kHeight, kWidth));
    for (size_t i = 0; i < kFrames; ++i) {
      const Tensor image = scene(half_static(i), kHeight, kWidth);
      lumas_.push_back(*luma_of(image, GreyRange{0, 1}));
      features_.push_back(run(*network, std::span(&image, 1))[0]);
    }
  }

  struct Outcome {
    double error = 0;
    size_t keys = 0;
  };
  Outcome of(const KeyScheduleOptions& options) const {
    KeySchedule schedule(options);
    MotionSum sum;
    Outcome outcome;
    size_t key = 0;
    for (size_t frame = 0; frame < kFrames; ++frame) {
      if (frame > 0) sum.add(estimate_flow(lumas_[frame - 1], lumas_[frame]));
      if (schedule.next(sum.motion())) {
        key = frame;
        sum.clear();
        ++outcome.keys;
        continue;
      }
      const Flow flow = estimate_flow(lumas_[key], lumas_[frame]);
      outcome.error += relative_distance(warp(features_[key], flow), features_[frame]) / kFrames;
    }
    return outcome;
  }

 private:
  std::unique_ptr<Device> device_;
  std::vector<Luma> lumas_;
  std::vector<Tensor> features_;
};

TEST(KeySchedule, PropagatesSmallerErrorsThanAStaticOneWithAsManyKeyFrames) {
  const PropagatedError measured;
  const auto by_motion = measured.of({.least = 5, .most = 30, .high = 20});
  // The static schedule with at least as many.
  const size_t interval = kFrames / by_motion.keys;
  const auto regular = measured.of({.least = interval, .most = interval});
  EXPECT_GE(regular.keys, by_motion.keys);
  EXPECT_LE(by_motion.error, 0.85 * regular.error);
  RecordProperty("by_motion", std::to_string(by_motion.error));
  RecordProperty("regular", std::to_string(regular.error));
  RecordProperty("keys", static_cast<int>(by_motion.keys));
  RecordProperty("regular_keys", static_cast<int>(regular.keys));
}

}  // namespace
}  // namespace shoal::keyframe
