#include "shoal/variants/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "shoal/variants/scheduler/explain.h"
#include "shoal/variants/scheduler/simulation/bound.h"
#include "shoal/variants/scheduler/simulation/day_testing.h"
#include "shoal/variants/scheduler/simulation/simulate_day.h"

namespace shoal::schedule {
namespace {

constexpr int64_t kPlenty = 1'000'000;

Option here(const char* name, double accuracy, double joules, int64_t bytes = 1) {
  return {.variant = name, .accuracy = accuracy, .ms = 1, .joules = joules, .bytes = bytes};
}

// One request a second, at its end.
std::vector<Request> steady(size_t count, size_t tasks = 1) {
  std::vector<Request> requests;
  for (size_t i = 0; i < count; ++i) requests.push_back({double(i) + 0.999999, i % tasks, i, true});
  return requests;
}

DayReport run(const Catalog& catalog, const Budgets& budgets, const std::vector<Request>& requests,
              const Paging& paging = {}) {
  Scheduler scheduler(catalog, budgets, paging);
  return simulate_day(scheduler, budgets, paging, requests);
}

// MC-4, vector A of [Han 2016].
TEST(Scheduler, SpendsAnEnergyBudgetToTheLastAnswer) {
  const Catalog catalog{.fragments = {},
                        .tasks = {{.name = "a",
                                   .requests_per_day = 100,
                                   .options = {here("big", .9, 2), here("small", .7, .5)}}}};
  const Budgets budgets{.joules = 100, .bytes = kPlenty, .seconds = 100};
  EXPECT_NEAR(bound_of(catalog, budgets, steady(100)).free_paging, .9 / 3 + .7 * 2 / 3, 1e-9);
  const DayReport report = run(catalog, budgets, steady(100));
  EXPECT_NEAR(report.mean_accuracy, .766, 1e-9);
  EXPECT_NEAR(report.joules, 99.5, 1e-9);
  EXPECT_EQ(report.violations, 0U);
}

// Vector B.
TEST(Scheduler, SpendsMoneyAndEnergyTogether) {
  Catalog catalog{.fragments = {},
                  .tasks = {{.name = "a",
                             .requests_per_day = 100,
                             .options = {here("big", .9, 2), here("small", .7, .5)}}}};
  catalog.tasks[0].options.push_back(
      {.variant = "big", .place = Place::kCloud, .accuracy = .95, .joules = .2, .dollars = .02});
  const Budgets budgets{.joules = 100, .dollars = 1, .bytes = kPlenty, .seconds = 100};
  const double bound = bound_of(catalog, budgets, steady(100)).free_paging;
  EXPECT_NEAR(bound, (50 * .95 + 130. / 3 * .9 + 20. / 3 * .7) / 100, 1e-9);
  const DayReport report = run(catalog, budgets, steady(100));
  EXPECT_GE(report.mean_accuracy, .99 * bound);
  EXPECT_EQ(report.violations, 0U);
}

// Vector C: page-ins cost more than there is.
TEST(Scheduler, GivesMemoryToTheTaskThatIsAskedMoreOften) {
  const Catalog catalog{.fragments = {},
                        .tasks = {{.name = "often",
                                   .requests_per_day = 900,
                                   .options = {here("80", .9, 0, 80), here("40", .8, 0, 40)}},
                                  {.name = "rarely",
                                   .requests_per_day = 100,
                                   .options = {here("60", .9, 0, 60), here("20", .75, 0, 20)}}}};
  const Budgets budgets{.joules = 100, .bytes = 100, .seconds = 1000};
  std::vector<Request> requests = steady(1000);
  for (size_t i = 0; i < requests.size(); ++i) requests[i].task = i % 10 == 9 ? 1 : 0;
  EXPECT_NEAR(bound_of(catalog, budgets, requests).without_paging, .885, 1e-9);
  const DayReport report = run(catalog, budgets, requests, {.joules_per_byte = 1});
  EXPECT_NEAR(report.mean_accuracy, .885, 1e-9);
  EXPECT_EQ(report.page_ins, 2U);
  EXPECT_EQ(report.violations, 0U);
}

// MC-5 and MC-7.
TEST(Scheduler, KeepsToAllBudgetsAndNearTheBoundOverDrawnWorkloads) {
  const uint64_t count = cases(10, 100'000);
  double sum = 0, worst = 1, free_sum = 0, free_worst = 1;
  size_t above = 0, low = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const Workload load = draw_workload(seed, 2000);
    ASSERT_TRUE(check(load.catalog).ok() && check(load.budgets).ok());
    const std::vector<Request> day = load.day(seed);
    const Bound bound = bound_of(load.catalog, load.budgets, day);
    Scheduler scheduler(load.catalog, load.budgets, load.paging);
    const DayReport report = simulate_day(scheduler, load.budgets, load.paging, day);
    ASSERT_EQ(report.violations, 0U) << seed;
    ASSERT_LE(report.mean_accuracy, bound.free_paging * (1 + 1e-9)) << seed;
    const double ratio = report.mean_accuracy / bound.without_paging;
    const double free_ratio = report.mean_accuracy / bound.free_paging;
    sum += ratio;
    free_sum += free_ratio;
    worst = std::min(worst, ratio);
    free_worst = std::min(free_worst, free_ratio);
    above += ratio > 1 ? 1 : 0;
    low += ratio < 0.9 ? 1 : 0;
    if (ratio < 0.88) std::printf("seed %d: %.4f\n", int(seed), ratio);
  }
  const auto days = static_cast<double>(count);
  std::printf(
      "%.4f of the bound, %.4f at worst, %zu above it, %zu below 0.9; with free paging %.4f, "
      "%.4f\n",
      sum / days, worst, above, low, free_sum / days, free_worst);
  EXPECT_GE(sum / days, 0.95);
  EXPECT_GE(worst, 0.85);
}

}  // namespace
}  // namespace shoal::schedule
