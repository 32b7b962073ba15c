// Several models on one cluster: against every pair of plans there is, on small ones.
#include "shoal/plan/tenants/tenants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/candidates.h"

namespace shoal::plan {
namespace {

// A plan as the brute force sees it.
struct Way {
  double alone;  // seconds
  Steps steps;
  Demand demand;
};

// One worker, or rows or channels over two or all of them, with some shares.
std::vector<Layout> some_layouts(int workers) {
  std::vector<Layout> layouts;
  for (int w = 0; w < workers; ++w) layouts.push_back({Cut::kNone, {w}, {1}, 1});
  for (Cut cut : {Cut::kRows, Cut::kChannels}) {
    for (int a = 0; a < workers; ++a) {
      for (int b = a + 1; b < workers; ++b) {
        for (double share : {0.25, 0.5, 0.75}) {
          layouts.push_back({cut, {a, b}, {share, 1 - share}, 1});
        }
      }
    }
    if (workers == 3) layouts.push_back({cut, {0, 1, 2}, {1. / 3, 1. / 3, 1. / 3}, 1});
  }
  return layouts;
}

class BruteForce {
 public:
  BruteForce(const Tenant& tenant, const ClusterProfile& cluster)
      : tenant_(tenant), cluster_(cluster), candidates_(*tenant.graph, cluster, cuts(tenant)) {
    for (const Layout& layout : some_layouts(static_cast<int>(cluster.workers.size()))) {
      layouts_.push_back(candidates_.add(layout));
    }
    extend(0);
    std::ranges::stable_sort(ways_, {}, &Way::alone);
  }

  const std::vector<Way>& ways() const { return ways_; }  // the fastest first

 private:
  static std::vector<size_t> cuts(const Tenant& tenant) {
    std::vector<size_t> all;
    for (size_t i = 0; i <= tenant.graph->nodes().size(); ++i) all.push_back(i);
    return all;
  }

  void extend(size_t begin) {
    const size_t last = candidates_.cuts().size() - 1;
    if (begin == last) add();
    for (size_t end = begin + 1; end <= last; ++end) {
      for (size_t layout : layouts_) {
        const Candidate* candidate = candidates_.find(begin, end, layout);
        if (candidate == nullptr) continue;
        chain_.push_back(candidate);
        extend(end);
        chain_.pop_back();
      }
    }
  }

  void add() {
    auto scheduled = ScheduledPlan::make(*tenant_.graph, plan_of(candidates_, chain_));
    if (!scheduled.ok()) return;
    const Prediction made = predict("", *std::move(scheduled), cluster_);
    Steps steps = make_steps(made.graph(), made.plan(), made.schedule(), cluster_);
    Demand demand = demand_of(made, steps, cluster_, tenant_.requests_per_second);
    if (is_met(demand, cluster_)) {
      ways_.push_back({made.timeline.seconds, std::move(steps), std::move(demand)});
    }
  }

  const Tenant tenant_;
  const ClusterProfile& cluster_;
  Candidates candidates_;
  std::vector<size_t> layouts_;
  Chain chain_;
  std::vector<Way> ways_;
};

// The least of the largest slowdowns of two tenants, whose best times alone are given.
double least_slowdown(const std::vector<Way>& first, const std::vector<Way>& second,
                      const double (&alone)[2], const ClusterProfile& cluster) {
  double least = std::numeric_limits<double>::infinity();
  for (const Way& a : first) {
    if (a.alone >= least * alone[0]) break;  // no other is faster
    for (const Way& b : second) {
      if (b.alone >= least * alone[1]) break;
      const Demand both[] = {a.demand, b.demand};
      if (!is_met(sum_of(both, cluster), cluster)) continue;
      least = std::min(least, std::max(seconds_among(b.demand, a.steps, cluster) / alone[0],
                                       seconds_among(a.demand, b.steps, cluster) / alone[1]));
    }
  }
  return least;
}

Graph small_network(Rng& rng) {
  for (;;) {
    Graph graph = random_network(rng);
    if (!graph.nodes().empty() && graph.nodes().size() <= 2) return graph;
  }
}

// So slow that it often pays to share even a small network.
ClusterProfile slow_workers(Rng& rng, int workers) {
  ClusterProfile cluster;
  for (int w = 0; w < workers; ++w) {
    cluster.workers.push_back(uniform_worker("", 1e6 * static_cast<double>(draw(rng, 1, 20)), 1e8));
    cluster.links.push_back({1e-4, 1e6 * static_cast<double>(draw(rng, 5, 100))});
  }
  cluster.coordinator = {1e-4, 1e8};
  return cluster;
}

// Requests a second that keep the busiest worker of the best plan busy for this part of the time.
double rate_for(const Graph& graph, const ClusterProfile& cluster, double busy) {
  const auto plans = make_plans(graph, cluster);
  const Prediction& best = plans->front();
  const Steps steps = make_steps(best.graph(), best.plan(), best.schedule(), cluster);
  const Demand demand = demand_of(best, steps, cluster, 1);
  return busy / std::max(std::ranges::max(demand.compute), std::ranges::max(demand.network));
}

TEST(Demand, LeavesTheSameTimeToStepsAndPlans) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const ClusterProfile cluster = random_cluster(rng, 3);
    const auto scheduled = ScheduledPlan::make(graph, random_plan(rng, graph, 3));
    ASSERT_TRUE(scheduled.ok());
    const Steps steps = make_steps(graph, scheduled->plan(), scheduled->schedule(), cluster);
    Demand others = sum_of({}, cluster);
    for (double& part : others.compute) part = 0.1 * static_cast<double>(draw(rng, 0, 9));
    for (double& part : others.network) part = 0.1 * static_cast<double>(draw(rng, 0, 9));
    const Prediction left = predict("", *scheduled, left_by(others, cluster));
    EXPECT_NEAR(seconds_among(others, steps, cluster), left.timeline.seconds,
                1e-9 * left.timeline.seconds);
    EXPECT_GE(left.timeline.seconds,
              predict("", *scheduled, cluster).timeline.seconds * (1 - 1e-9));
  }
}

// The bound holds for each instance, not on the average.
TEST(Tenants, AreWithinFivePercentOfEveryPairOfPlans) {
  double worst = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph a = small_network(rng), b = small_network(rng);
    ClusterProfile cluster = slow_workers(rng, static_cast<int>(draw(rng, 2, 3)));
    const Tenant tenants[] = {
        {&a, rate_for(a, cluster, 0.1 * static_cast<double>(draw(rng, 1, 6)))},
        {&b, rate_for(b, cluster, 0.1 * static_cast<double>(draw(rng, 1, 6)))}};
    const auto joint = plan_tenants(tenants, cluster);
    const BruteForce first(tenants[0], cluster), second(tenants[1], cluster);
    if (!joint.ok()) {
      EXPECT_EQ(least_slowdown(first.ways(), second.ways(), {1, 1}, cluster),
                std::numeric_limits<double>::infinity());
      continue;
    }
    const TenantPlan &one = (*joint)[0], &other = (*joint)[1];
    const Demand both[] = {one.demand, other.demand};
    EXPECT_TRUE(is_met(sum_of(both, cluster), cluster));
    const double alone[] = {one.alone.timeline.seconds, other.alone.timeline.seconds};
    const double least = least_slowdown(first.ways(), second.ways(), alone, cluster);
    const double largest = std::max(one.slowdown(), other.slowdown());
    EXPECT_LE(largest, 1.05 * least);
    worst = std::max(worst, largest / least);
  }
  RecordProperty("worst_percent", static_cast<int>(100 * worst));
}

// Both may use any worker half of the time, so each can be as fast as with half of every worker.
TEST(Tenants, NeitherStarves) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph a = small_network(rng), b = small_network(rng);
    const ClusterProfile cluster = slow_workers(rng, static_cast<int>(draw(rng, 1, 3)));
    const Tenant tenants[] = {{&a, rate_for(a, cluster, 0.5)}, {&b, rate_for(b, cluster, 0.5)}};
    const auto joint = plan_tenants(tenants, cluster);
    ASSERT_TRUE(joint.ok());
    for (const TenantPlan& tenant : *joint) EXPECT_LE(tenant.slowdown(), 2 * (1 + 1e-9));
  }
}

// If no worker has the memory for both models, each gets its own workers.
TEST(Tenants, ShareMemory) {
  const Graph graph = optimized("lenet5");
  ClusterProfile cluster = uniform_cluster(2, *find_device("pi4"), *find_link("gigabit"));
  const double whole = memory_bytes(graph, plan_for_one(graph, cluster, 0)->plan(),
                                    plan_for_one(graph, cluster, 0)->schedule(), 2)[0];
  for (WorkerProfile& worker : cluster.workers) worker.memory_bytes = 1.5 * whole;
  const Tenant two[] = {{&graph, 1}, {&graph, 1}},
               four[] = {{&graph}, {&graph}, {&graph}, {&graph}};
  const auto joint = plan_tenants(two, cluster);
  ASSERT_TRUE(joint.ok());
  const Demand both[] = {(*joint)[0].demand, (*joint)[1].demand};
  for (double bytes : sum_of(both, cluster).memory) EXPECT_LE(bytes, 1.5 * whole);
  EXPECT_EQ(plan_tenants(four, cluster).status().code(), Code::kExhausted);
}

TEST(Tenants, RefuseRatesThatNobodyCanServe) {
  const Graph graph = optimized("lenet5");
  const ClusterProfile cluster = uniform_cluster(2, *find_device("pi4"), *find_link("gigabit"));
  const Tenant often[] = {{&graph, 1e9}, {&graph, 1}}, never[] = {{&graph, 0}};
  EXPECT_EQ(plan_tenants(often, cluster).status().code(), Code::kExhausted);
  EXPECT_EQ(plan_tenants(never, cluster).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::plan
