// The planner against every plan there is, on networks and clusters small enough to try them all.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "random_plan.h"
#include "shoal/plan/search/candidates.h"
#include "shoal/plan/search/planner.h"
#include "shoal/plan/search/segment_search.h"

namespace shoal::plan {
namespace {

constexpr size_t kMostNodes = 3;

std::vector<std::vector<int>> ordered_groups(int workers) {
  std::vector<std::vector<int>> groups;
  std::vector<int> order;
  for (int w = 0; w < workers; ++w) order.push_back(w);
  do {
    for (size_t size = 2; size <= order.size(); ++size) {
      const std::vector<int> group(order.begin(), order.begin() + static_cast<long>(size));
      if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
    }
  } while (std::ranges::next_permutation(order).found);
  return groups;
}

std::vector<std::vector<double>> shares_of(size_t workers) {
  if (workers == 2) return {{1, 1}, {3, 1}, {1, 3}, {7, 1}, {1, 7}};
  return {{1, 1, 1}, {2, 1, 1}};
}

// One worker, or rows, columns or channels over any group in any order, with some shares.
std::vector<Layout> all_layouts(int workers) {
  std::vector<Layout> layouts;
  for (int w = 0; w < workers; ++w) layouts.push_back({Cut::kNone, {w}, {1}, 1});
  for (const std::vector<int>& group : ordered_groups(workers)) {
    for (Cut cut : {Cut::kRows, Cut::kChannels}) {
      for (const std::vector<double>& shares : shares_of(group.size())) {
        layouts.push_back({cut, group, shares, 1});
      }
    }
  }
  return layouts;
}

class Oracle {
 public:
  Oracle(const Graph& graph, const ClusterProfile& cluster)
      : candidates_(graph, cluster, node_cuts(graph)) {
    for (const Layout& layout : all_layouts(static_cast<int>(cluster.workers.size()))) {
      layouts_.push_back(candidates_.add(layout));
    }
  }

  double least_seconds() {
    extend(0);
    return least_;
  }

 private:
  static std::vector<size_t> node_cuts(const Graph& graph) {
    std::vector<size_t> cuts;
    for (size_t i = 0; i <= graph.nodes().size(); ++i) cuts.push_back(i);
    return cuts;
  }

  void extend(size_t begin) {
    const size_t last = candidates_.cuts().size() - 1;
    if (begin == last) least_ = std::min(least_, simulated_seconds(candidates_, chain_));
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

  Candidates candidates_;
  std::vector<size_t> layouts_;
  Chain chain_;
  double least_ = std::numeric_limits<double>::infinity();
};

// So slow that it often pays to share even a small network.
ClusterProfile slow_cluster(Rng& rng, int workers) {
  ClusterProfile cluster = random_cluster(rng, workers);
  for (WorkerProfile& worker : cluster.workers) {
    worker = uniform_worker("", 1e6 * static_cast<double>(draw(rng, 1, 20)), 1e8);
  }
  for (LinkProfile& link : cluster.links) link.wakeup_seconds = 0;
  cluster.coordinator.wakeup_seconds = 0;
  return cluster;
}

TEST(Planner, ComesNearTheBestPlanThereIs) {
  int instances = 0, near = 0;
  double worst = 0;
  for (unsigned seed = 0; instances < 100; ++seed) {
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty() || graph.nodes().size() > kMostNodes) continue;
    const int workers = graph.nodes().size() < kMostNodes ? static_cast<int>(draw(rng, 2, 3)) : 2;
    const ClusterProfile cluster = slow_cluster(rng, workers);
    const double least = Oracle(graph, cluster).least_seconds();
    const auto plans = make_plans(graph, cluster);
    ASSERT_TRUE(plans.ok());
    const double ratio = plans->front().timeline.seconds / least;
    ++instances;
    near += ratio <= 1.05 ? 1 : 0;
    worst = std::max(worst, ratio);
    EXPECT_LE(ratio, 1.5) << "seed " << seed;
  }
  RecordProperty("within_five_percent", near);
  EXPECT_GE(near, instances * 95 / 100) << "the worst takes " << worst << " times as long";
}

// More devices are never worse than the best of them alone.
TEST(Planner, IsNeverSlowerThanTheBestWorker) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const int workers = static_cast<int>(draw(rng, 1, 8));
    const ClusterProfile cluster = random_cluster(rng, workers);
    const auto plans = make_plans(graph, cluster);
    ASSERT_TRUE(plans.ok());
    for (int w = 0; w < workers; ++w) {
      const auto one = plan_for_one(graph, cluster, w);
      ASSERT_TRUE(one.ok());
      EXPECT_LE(plans->front().timeline.seconds, one->timeline.seconds);
    }
  }
}

}  // namespace
}  // namespace shoal::plan
