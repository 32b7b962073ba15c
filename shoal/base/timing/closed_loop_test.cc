#include "shoal/base/timing/closed_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <vector>

namespace shoal {
namespace {

TEST(ClosedLoop, KeepsAllClientsAtWorkAtOnce) {
  std::latch all(4);
  const auto report = run_closed_loop(4, std::chrono::seconds(0), [&] {
    all.arrive_and_wait();  // no client returns before all have arrived
    return Status();
  });
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->latencies.count(), 4u);
  EXPECT_DOUBLE_EQ(report->requests_per_s() * report->seconds, 4);
  EXPECT_LE(report->latencies.max(), 1e3 * report->seconds + 1e-6);
}

TEST(ClosedLoop, EndsWithTheFirstFailure) {
  std::atomic<int> calls = 0;
  const auto report = run_closed_loop(2, std::chrono::hours(1), [&] {
    return ++calls == 5 ? Status(Code::kInternal, "the fifth") : Status();
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().message(), "the fifth");
}

TEST(TimeRuns, TimesThreeAtLeast) {
  int calls = 0;
  std::vector<double> passed;
  const auto latencies = time_runs(
      std::chrono::seconds(0),
      [&] {
        ++calls;
        return Status();
      },
      [&](double seconds) { passed.push_back(seconds); });
  ASSERT_TRUE(latencies.ok());
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(latencies->count(), 3u);
  ASSERT_EQ(passed.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(passed));
  EXPECT_LE(3 * latencies->mean(), 1e3 * passed.back() + 1e-6) << "what runs take has passed";
}

TEST(TimeRuns, GoesOnUntilTheTimeIsOver) {
  double passed = 0;
  const auto latencies = time_runs(
      std::chrono::milliseconds(5), [] { return Status(); }, [&](double now) { passed = now; });
  ASSERT_TRUE(latencies.ok());
  EXPECT_GE(passed, 0.005);
}

TEST(TimeRuns, EndsWithTheFirstFailure) {
  int calls = 0;
  const auto latencies = time_runs(std::chrono::hours(1), [&] {
    return ++calls == 2 ? Status(Code::kInternal, "the second") : Status();
  });
  EXPECT_EQ(latencies.status().message(), "the second");
}

}  // namespace
}  // namespace shoal
