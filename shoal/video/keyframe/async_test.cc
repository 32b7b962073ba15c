// The asynchronous order and the simulation of latencies: checks E2 to E6 and E14 of
// docs/references.md.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "shoal/base/math/random.h"
#include "shoal/video/keyframe/async_features.h"
#include "shoal/video/keyframe/async_keys.h"
#include "shoal/video/keyframe/simulate_keys_testing.h"

namespace shoal::keyframe {
namespace {

// A key frame every so many frames; all come at once, so that each begins when the last ends.
std::vector<Arrival> back_to_back(size_t frames, size_t interval, const FrameTimes& times) {
  std::vector<Arrival> all(frames);
  for (size_t i = 0; i < frames; ++i) all[i] = {0, 0, i % interval == 0, times};
  return all;
}

TEST(Simulation, TakesLongForKeyFramesOneAfterTheOther) {
  const auto frames = back_to_back(50, 10, {.key_us = 89000, .inter_us = 19000});
  const auto answered = simulate(frames, Order::kSequential);
  int64_t free_us = 0;
  for (size_t i = 0; i < answered.size(); ++i) {
    EXPECT_EQ(answered[i].begun_us, free_us);
    free_us = answered[i].answered_us;
    EXPECT_EQ(free_us - answered[i].begun_us, i % 10 == 0 ? 89000 : 19000);
    EXPECT_EQ(answered[i].reference, i / 10 * 10);
  }
  EXPECT_EQ(furthest(answered), 9u);
}

TEST(Simulation, HasFeaturesAsLateAsTheFormulaSays) {
  EXPECT_EQ(feature_delay(600, 200), 3);
  EXPECT_EQ(feature_delay(600, 400), 2);
  const auto delay = [](const FrameTimes& times, size_t interval) {
    const auto answered = simulate(back_to_back(100, interval, times), Order::kAsynchronous);
    for (size_t i = interval; i < answered.size(); ++i) {
      if (answered[i].reference != answered[i - 1].reference) return i - answered[i].reference;
    }
    return size_t{0};
  };
  const FrameTimes times{.key_us = 600, .inter_us = 200};
  EXPECT_EQ(delay(times, 7), 3u);
  EXPECT_EQ(delay({.key_us = 600, .inter_us = 200, .other_us = 200}, 7), 2u);
  EXPECT_EQ(furthest(simulate(back_to_back(100, 7, times), Order::kAsynchronous)), 7u - 1 + 3);
  EXPECT_EQ(furthest(simulate(back_to_back(100, 7, times), Order::kSequential)), 7u - 1);
}

TEST(Simulation, IsFasterByTheFormula) {
  for (const auto& [interval, expected] :
       {std::pair<size_t, double>{6, 1.61}, {10, 1.37}, {20, 1.18}}) {
    const auto frames = back_to_back(40 * interval, interval, {.key_us = 89000, .inter_us = 19000});
    const double sequential = latencies_of(simulate(frames, Order::kSequential), interval).mean_ms;
    const double flat = latencies_of(simulate(frames, Order::kAsynchronous), interval).mean_ms;
    EXPECT_NEAR(sequential / flat, expected, 0.01) << interval;
  }
}

// Times vary by 4 % each way; 30 frames a second.
TEST(Simulation, HasFlatLatencyInAsynchronousOrder) {
  const RandomStream random(1, 1);
  const auto varied = [&](int64_t us, size_t i) {
    return us * static_cast<int64_t>(960 + random.below(81, i)) / 1000;
  };
  std::vector<Arrival> frames(3000);
  for (size_t i = 0; i < frames.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) * 33333;
    frames[i] = {at,
                 at,
                 i % 10 == 0,
                 {.key_us = varied(89000, 2 * i), .inter_us = varied(19000, 2 * i + 1)}};
  }
  const Latencies flat = latencies_of(simulate(frames, Order::kAsynchronous), 10);
  EXPECT_LE(flat.p99_ms / flat.p50_ms, 1.10);
  RecordProperty("p99_by_p50", std::to_string(flat.p99_ms / flat.p50_ms));
  EXPECT_NEAR(flat.worst_ms, 19, 0.8);
  const Latencies sequential = latencies_of(simulate(frames, Order::kSequential), 10);
  EXPECT_GT(sequential.p99_ms / sequential.p50_ms, 3);
  EXPECT_NEAR(sequential.worst_ms, 89, 4);
}

// Times of the source: encode 18, decode 8, 0.98 Mbit a frame, a key frame in ten.
Latencies over_link(double bits_per_second, Order order) {
  const std::vector<double> bytes(500, 0.98e6 / 8);
  auto frames = send(bytes, {.period_us = 33333,
                             .encode_us = 18000,
                             .decode_us = 8000,
                             .link = {.bytes_per_second = bits_per_second / 8}});
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].is_key = i % 10 == 0;
    frames[i].times = {.key_us = 89000, .inter_us = 19000};
  }
  return latencies_of(simulate(frames, order), 10);
}

TEST(Simulation, HasALowerWorstLatencyOverALink) {
  const auto lower = [](double mbit) {
    return 1 - over_link(mbit * 1e6, Order::kAsynchronous).worst_ms /
                   over_link(mbit * 1e6, Order::kSequential).worst_ms;
  };
  EXPECT_NEAR(over_link(12e6, Order::kSequential).worst_ms, 197, 1);
  EXPECT_NEAR(over_link(12e6, Order::kAsynchronous).worst_ms, 127, 1);
  EXPECT_NEAR(over_link(21e6, Order::kSequential).worst_ms, 162, 1);
  EXPECT_NEAR(over_link(21e6, Order::kAsynchronous).worst_ms, 92, 1);
  for (const double mbit : {12.0, 15.0, 18.0, 21.0, 100.0}) EXPECT_GE(lower(mbit), 0.35) << mbit;
  EXPECT_NEAR(lower(3), 0.16, 0.01);  // the upload dominates
}

TEST(Simulation, DropsFramesThatTheLinkHasNoTimeFor) {
  const std::vector<double> bytes(20, 12500);  // 100 ms at 1 Mbit/s
  const auto frames =
      send(bytes, {.period_us = 40000, .encode_us = 10000, .link = {.bytes_per_second = 125000}});
  for (size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].captured_us, static_cast<int64_t>(i) * 120000);  // one in three
    EXPECT_EQ(frames[i].arrived_us - frames[i].captured_us, 110000);
  }
}

// Random histories: every reference was complete, is the newest that was, and is never newer than
// the frame.
TEST(AsyncKeys, AnswerFromTheNewestCompleteKeyFrame) {
  std::mt19937 rng(4);
  for (int history = 0; history < 200; ++history) {
    AsyncKeys keys;
    std::optional<size_t> complete, running, newest_key;
    for (size_t frame = 0; frame < 60; ++frame) {
      while (running && rng() % 3 == 0) {
        complete = std::exchange(running, std::nullopt);
        running = keys.on_features();
        if (running) {
          EXPECT_EQ(running, newest_key);
        }
      }
      const bool is_key = rng() % 4 == 0;
      const auto decision = keys.on_frame(frame, is_key);
      EXPECT_EQ(decision.reference, complete);
      if (is_key || !complete) newest_key = frame;
      if (!decision.start) continue;
      EXPECT_FALSE(running);
      running = frame;
    }
    EXPECT_EQ(keys.computing(), running);
  }
}

Tensor number(size_t frame) { return Tensor::of<float>({1}, {static_cast<float>(frame)}); }

// E4 of docs/references.md; the thread sanitizer sees it, too.
TEST(AsyncFeatures, AreNeverNewerThanTheFrameOrHalfDone) {
  std::mt19937 rng(5);
  AsyncFeatures features([](const Tensor& input) -> Result<std::vector<Tensor>> {
    return std::vector{input.clone(), input.clone()};
  });
  EXPECT_EQ(features.latest(), nullptr);
  size_t last = 0, references = 0, wanted = 0;
  for (size_t frame = 0; frame < 10000; ++frame) {
    Tensor input = number(frame);
    const bool is_key = rng() % 4 == 0;
    if (is_key) wanted = frame;
    const auto key = features.next({.frame = frame}, is_key, input);
    ASSERT_TRUE(key.ok());
    input.data<float>()[0] = -1;  // it was copied
    const size_t of = (*key)->image.frame;
    ASSERT_LE(of, frame);
    ASSERT_GE(of, last);
    references += of != last ? 1 : 0;
    last = of;
    for (const Tensor& one : (*key)->features) {
      ASSERT_EQ(one.data<float>()[0], static_cast<float>(of));
    }
    // Frames may be faster than the thread ever runs: now and then it gets all the time it needs.
    while (frame % 64 == 63 && features.latest()->image.frame < wanted) std::this_thread::yield();
  }
  EXPECT_GE(references, 100u);
}

TEST(AsyncFeatures, SayThatComputingFailedAndGoOn) {
  bool fails = true;
  AsyncFeatures features([&](const Tensor& input) -> Result<std::vector<Tensor>> {
    if (fails) return Status(Code::kExhausted, "no memory");
    return std::vector{input};
  });
  EXPECT_EQ(features.next({.frame = 0}, true, number(0)).status().code(), Code::kExhausted);
  fails = false;
  const auto key = features.next({.frame = 1}, false, number(1));
  ASSERT_TRUE(key.ok());
  EXPECT_EQ((*key)->image.frame, 1u);
}

}  // namespace
}  // namespace shoal::keyframe
