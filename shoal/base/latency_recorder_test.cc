#include "shoal/base/latency_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace shoal {
namespace {

TEST(LatencyRecorder, KnowsQuantilesToHalfAPercent) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> latency(1, 2);
  LatencyRecorder recorder;
  std::vector<double> all;
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    all.push_back(latency(random));
    recorder.add(all.back());
    sum += all.back();
  }
  std::ranges::sort(all);
  for (double share : {0.0, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = all[static_cast<size_t>(share * 10'000)];
    EXPECT_GE(recorder.quantile(share), exact);
    EXPECT_LE(recorder.quantile(share), 1.0051 * exact);
  }
  EXPECT_EQ(recorder.quantile(1), all.back());
  EXPECT_EQ(recorder.max(), all.back());
  EXPECT_EQ(recorder.count(), 10'000u);
  EXPECT_NEAR(recorder.mean(), sum / 10'000, 1e-6);
}

TEST(LatencyRecorder, OfNothingIsZero) {
  const LatencyRecorder recorder;
  EXPECT_EQ(recorder.quantile(0.5), 0);
  EXPECT_EQ(recorder.mean(), 0);
  EXPECT_EQ(recorder.max(), 0);
}

TEST(LatencyRecorder, TakesTheShortestAndTheLongest) {
  LatencyRecorder recorder;
  recorder.add(0);
  recorder.add(1e9);
  EXPECT_LE(recorder.quantile(0.1), 1.01e-3);
  EXPECT_EQ(recorder.max(), 1e9);
}

}  // namespace
}  // namespace shoal
