#include "shoal/base/closed_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <numeric>

namespace shoal {
namespace {

TEST(Percentile, IsTheValueOfTheNearestRank) {
  EXPECT_EQ(percentile({7}, 0), 7);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_EQ(percentile({1, 2, 3}, 0.5), 2);
  EXPECT_EQ(percentile({1, 2, 3}, 0), 1);
  EXPECT_EQ(percentile({1, 2, 3}, 1), 3);
  std::vector<double> hundred(101);
  std::iota(hundred.begin(), hundred.end(), 0.0);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
}

TEST(ReportLoad, CountsAndSorts) {
  const LoadReport report = report_load({30, 10, 20}, 0.5);
  EXPECT_EQ(report.requests, 3u);
  EXPECT_EQ(report.requests_per_s, 6);
  EXPECT_EQ(report.p50_ms, 20);
  EXPECT_EQ(report.p99_ms, 30);
  EXPECT_EQ(report_load({}, 1).requests, 0u);
}

TEST(ClosedLoop, KeepsAllClientsAtWorkAtOnce) {
  std::latch all(4);
  const auto report = run_closed_loop(4, std::chrono::seconds(0), [&] {
    all.arrive_and_wait();  // nobody comes back before all are there
    return Status();
  });
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->requests, 4u);
  EXPECT_LE(report->p50_ms, report->p99_ms);
}

TEST(ClosedLoop, EndsWithTheFirstFailure) {
  std::atomic<int> calls = 0;
  const auto report = run_closed_loop(2, std::chrono::hours(1), [&] {
    return ++calls == 5 ? Status(Code::kInternal, "the fifth") : Status();
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().message(), "the fifth");
}

}  // namespace
}  // namespace shoal
