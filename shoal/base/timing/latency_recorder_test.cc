#include "shoal/base/timing/latency_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace shoal {
namespace {

LatencyRecorder recorded(const std::vector<double>& latencies) {
  LatencyRecorder recorder;
  for (double ms : latencies) recorder.add(ms);
  return recorder;
}

std::vector<double> random_latencies(size_t count) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> latency(3, 1);
  std::vector<double> all;
  for (size_t i = 0; i < count; ++i) all.push_back(latency(random));
  return all;
}

TEST(LatencyRecorder, IsExactWhereThereAreFew) {
  EXPECT_EQ(recorded({7}).quantile(0), 7);
  EXPECT_EQ(recorded({7}).quantile(0.99), 7);
  for (const std::vector<double>& shuffled : {std::vector<double>{2, 3, 1}, {1, 2, 3}, {3, 2, 1}}) {
    const LatencyRecorder three = recorded(shuffled);
    EXPECT_EQ(three.quantile(0), 1);
    EXPECT_EQ(three.quantile(0.5), 2);
    EXPECT_EQ(three.quantile(0.99), 3) << "the nearest rank";
    EXPECT_EQ(three.quantile(1), 3);
    EXPECT_EQ(three.mean(), 2);
  }
  std::vector<double> all = random_latencies(1000);
  const LatencyRecorder recorder = recorded(all);
  std::ranges::sort(all);
  EXPECT_EQ(recorder.quantile(0.9), all[899]);
}

TEST(LatencyRecorder, KnowsQuantilesOfManyToHalfAPercent) {
  std::vector<double> all = random_latencies(LatencyRecorder::kExact + 1);
  const LatencyRecorder recorder = recorded(all);
  double sum = 0;
  for (double ms : all) sum += ms;
  std::ranges::sort(all);
  const auto count = static_cast<double>(all.size());
  for (double share : {0.0, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = all[static_cast<size_t>(std::lround(share * (count - 1)))];
    EXPECT_GE(recorder.quantile(share), exact);
    EXPECT_LE(recorder.quantile(share), 1.0051 * exact);
  }
  EXPECT_EQ(recorder.quantile(1), all.back());
  EXPECT_EQ(recorder.max(), all.back());
  EXPECT_EQ(recorder.count(), all.size());
  EXPECT_NEAR(recorder.mean(), sum / count, 1e-6);
}

TEST(LatencyRecorder, AddsUp) {
  LatencyRecorder sum = recorded({1, 4});
  sum += recorded({3, 2, 5});
  EXPECT_EQ(sum.count(), 5u);
  EXPECT_EQ(sum.quantile(0.5), 3);
  EXPECT_EQ(sum.max(), 5);
  EXPECT_EQ(sum.mean(), 3);
  sum += LatencyRecorder();
  EXPECT_EQ(sum.quantile(1), 5);
}

TEST(LatencyRecorder, AddsUpToMoreThanItKeeps) {
  const std::vector<double> all = random_latencies(LatencyRecorder::kExact);
  LatencyRecorder sum = recorded({all.begin(), all.begin() + 10});
  const double tenth = sum.max();
  sum += recorded(all);
  EXPECT_EQ(sum.count(), all.size() + 10);
  EXPECT_GE(sum.max(), tenth);
  const double median = recorded(all).quantile(0.5);
  EXPECT_NEAR(sum.quantile(0.5), median, 0.006 * median);
}

TEST(LatencyRecorder, OfNothingIsZero) {
  const LatencyRecorder recorder;
  EXPECT_EQ(recorder.quantile(0.5), 0);
  EXPECT_EQ(recorder.mean(), 0);
  EXPECT_EQ(recorder.max(), 0);
}

TEST(LatencyRecorder, TakesTheShortestAndTheLongest) {
  LatencyRecorder recorder;
  for (size_t i = 0; i < LatencyRecorder::kExact; ++i) recorder.add(0);
  recorder.add(1e9);
  EXPECT_LE(recorder.quantile(0.1), 1.01e-3);
  EXPECT_EQ(recorder.max(), 1e9);
}

}  // namespace
}  // namespace shoal
