#include "shoal/shrink/search/dag_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "shoal/shrink/search/dag_testing.h"

namespace shoal::concurrent {
namespace {

constexpr double kRounding = 1e-9;
constexpr Units kUnitSpeed{.count = 4, .macs_per_second = 1, .bytes_per_second = 1};

TEST(Schedules, RespectDependenciesAndUnits) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomWork c(seed, 1 + seed % 30, 8);
    const Schedule schedule = make_schedule(c.work, c.units);
    const Dag& dag = c.work.dag;
    std::vector<std::vector<Placement>> by_unit(c.units.count + 1);
    for (size_t v = 0; v < dag.size(); ++v) {
      const Placement& here = schedule.placed[v];
      EXPECT_NEAR(here.end - here.begin, c.work.macs[v] / c.units.macs_per_second, kRounding);
      EXPECT_EQ(here.unit == c.units.count, v == dag.sink());
      for (size_t from : dag.predecessors[v]) {
        const Placement& before = schedule.placed[from];
        const bool travels = from != 0 && before.unit != here.unit;
        const double sending =
            c.units.latency_seconds + c.work.bytes[from] / c.units.bytes_per_second;
        EXPECT_GE(here.begin + kRounding, before.end + (travels ? sending : 0));
      }
      if (v > 0) by_unit[here.unit].push_back(here);
    }
    for (std::vector<Placement>& placed : by_unit) {
      std::sort(placed.begin(), placed.end(),
                [](const Placement& a, const Placement& b) { return a.begin < b.begin; });
      for (size_t i = 1; i < placed.size(); ++i) {
        EXPECT_GE(placed[i].begin + kRounding, placed[i - 1].end);
      }
    }
  }
}

bool is_topological(const Dag& dag, const std::vector<size_t>& order) {
  std::vector<size_t> place(dag.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i + 1;
  for (size_t v : order) {
    for (size_t from : dag.predecessors[v]) {
      if (place[from] > place[v]) return false;
    }
  }
  return true;
}

// All orders and all units.
double shortest_seconds(const Workload& work, const Units& units) {
  std::vector<size_t> order(work.dag.size() - 2);
  std::iota(order.begin(), order.end(), size_t{1});
  double best = 1e18;
  do {
    if (!is_topological(work.dag, order)) continue;
    std::vector<size_t> unit_of(work.dag.size(), 0);
    for (bool more = true; more;) {
      best = std::min(best, carry_out(work, units, order, unit_of).seconds());
      size_t v = 1;
      while (v < work.dag.sink() && ++unit_of[v] == units.count) unit_of[v++] = 0;
      more = v < work.dag.sink();
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// List scheduling is no exact method: of tiny DAGs it finds the optimum of most, and is near it for
// the rest.
TEST(Schedules, OfTinyDagsAreNearlyAlwaysTheShortest) {
  int equal = 0;
  double worst = 1;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const RandomWork c(seed, 1 + seed % 5, 3);
    const double best = shortest_seconds(c.work, c.units);
    const double result = make_schedule(c.work, c.units).seconds();
    ASSERT_GE(result, best - kRounding) << seed;
    worst = std::max(worst, result / best);
    equal += result <= best + kRounding;
  }
  EXPECT_GE(equal, 140);  // of 150
  EXPECT_LE(worst, 1.15);
}

TEST(Schedules, OfIndependentChainsAreIdeal) {
  const Workload work = uniform_workload(chains(4, 5), 1, 0.5);
  EXPECT_NEAR(make_schedule(work, kUnitSpeed).seconds(), 5 + 0.5, kRounding);
}

TEST(Schedules, OfAChainStayOnOneUnit) {
  const Workload work = uniform_workload(chains(1, 20), 1, 0.5);
  EXPECT_NEAR(make_schedule(work, kUnitSpeed).seconds(), 20 + 0.5, kRounding);
}

}  // namespace
}  // namespace shoal::concurrent
