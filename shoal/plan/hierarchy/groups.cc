// Grouping by the first that fits: a worker joins the first group whose first worker it is similar
// to. Workers come by falling ability, so the first of a group is its ablest. O(workers * groups).
#include "shoal/plan/hierarchy/groups.h"

#include <algorithm>

namespace shoal::plan {
namespace {

bool near(double a, double b) { return a <= kSimilar * b && b <= kSimilar * a; }

bool similar(const Choices& choices, const ClusterProfile& cluster, int a, int b) {
  const WorkerProfile &one = cluster.workers[static_cast<size_t>(a)],
                      &other = cluster.workers[static_cast<size_t>(b)];
  const LinkProfile &from = cluster.link_of(a), &to = cluster.link_of(b);
  return near(choices.ability(a), choices.ability(b)) &&
         near(one.memory_bytes, other.memory_bytes) && from.medium == to.medium &&
         near(from.bytes_per_second, to.bytes_per_second) &&
         near(from.latency_seconds, to.latency_seconds);
}

}  // namespace

std::vector<Choices::Group> similar_workers(const Choices& choices, const ClusterProfile& cluster) {
  std::vector<Choices::Group> groups;
  for (int worker : choices.workers()) {
    const auto fits = [&](const Choices::Group& group) {
      return similar(choices, cluster, group.front(), worker);
    };
    const auto group = std::ranges::find_if(groups, fits);
    (group == groups.end() ? groups.emplace_back() : *group).push_back(worker);
  }
  return groups;
}

std::vector<int> in_turn(const std::vector<Choices::Group>& groups) {
  size_t longest = 0;
  for (const Choices::Group& group : groups) longest = std::max(longest, group.size());
  std::vector<int> workers;
  for (size_t i = 0; i < longest; ++i) {
    for (const Choices::Group& group : groups) {
      if (i < group.size()) workers.push_back(group[i]);
    }
  }
  return workers;
}

}  // namespace shoal::plan
