// Sums over days are those of the days, and no day beats its bound without paging costs.
#include "shoal/variants/scheduler/simulation/days.h"

#include <gtest/gtest.h>

#include "shoal/variants/scheduler/simulation/day_testing.h"

namespace shoal::schedule {
namespace {

TEST(Days, AreTheSumsAndMeansOfTheirDays) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const Workload work = draw_workload(seed, 100);
    const Trace trace{work.budgets, work.paging, work.usage};
    size_t lines = 0;
    const DaysReport all =
        simulate_days(work.catalog, trace,
                      {.days = 3, .seed = seed, .log = [&](const std::string&) { ++lines; }});
    DayReport each;
    double joules = 0, bound = 0;
    Scheduler scheduler(work.catalog, work.budgets, work.paging);
    for (uint64_t day = 0; day < 3; ++day) {
      if (day > 0) scheduler.begin_day(work.budgets);
      const auto requests = draw_day(work.usage, work.budgets.seconds, seed, day);
      const DayReport day_report =
          simulate_day(scheduler, work.budgets, work.paging, requests, {.seed = seed + day});
      each.requests += day_report.requests;
      each.answered += day_report.answered;
      each.mean_accuracy += day_report.mean_accuracy / 3;
      joules += day_report.joules / 3;
      bound += bound_of(work.catalog, work.budgets, requests).without_paging / 3;
    }
    EXPECT_EQ(all.days, 3u);
    EXPECT_EQ(all.requests, each.requests);
    EXPECT_EQ(all.answered, each.answered);
    EXPECT_GE(lines, all.requests);
    EXPECT_NEAR(all.mean_accuracy, each.mean_accuracy, 1e-12);
    EXPECT_NEAR(all.joules, joules, 1e-9 * joules);
    EXPECT_NEAR(all.bound, bound, 1e-12);
    EXPECT_LE(all.worst_free_ratio, 1 + 1e-9);
    EXPECT_LE(all.worst_ratio, all.mean_ratio);
    size_t answers = 0;
    for (const auto& options : all.answers) {
      for (const auto& [option, count] : options) answers += count;
    }
    EXPECT_EQ(answers, all.answered);
    const DaysReport again = simulate_days(work.catalog, trace, {.days = 3, .seed = seed});
    EXPECT_EQ(again.log_hash, all.log_hash);
    EXPECT_NE(simulate_days(work.catalog, trace, {.days = 3, .seed = seed + 9}).log_hash,
              all.log_hash);
  }
}

TEST(Days, HaveNoRatioWhereNothingWasAsked) {
  const Workload work = draw_workload(1, 100);
  const DaysReport all = simulate_days(work.catalog, {work.budgets, work.paging, {}}, {.days = 2});
  EXPECT_EQ(all.requests, 0u);
  EXPECT_EQ(all.mean_ratio, 0);
  EXPECT_EQ(all.worst_ratio, 0);
}

}  // namespace
}  // namespace shoal::schedule
