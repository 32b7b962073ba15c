// Multilevel search, as partitioners of large graphs do it (Karypis and Kumar 1998): solve a small
// problem, then refine its solution on larger and larger ones.
//
//   level 0: groups of up to 8 workers, all layouts, the beam search and the local search of
//            make_plans();
//   level l: groups of up to 8 * 2^l workers. Layouts are those of the best chain so far, and those
//            over groups of the two sizes that are new at this level.
//
// The flat search tries every group size at every cut: O(log n) layouts of n tasks, and each task
// meets the boxes of n others. Here the last level alone has n tasks, and few layouts. The best
// chain so far is one of those that a level compares, so that no level makes the plan slower.
//
// A group of size k is the first k workers in one of the orders that similar workers suggest: by
// ability, by link, and, if there are several media, one worker of each group of similar ones in
// turn, so that the media share the traffic. A size in the middle of a group of similar workers is
// arbitrary, so that ends of groups are sizes as well.
#include "shoal/plan/hierarchy/levels.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "shoal/plan/search/choices.h"
#include "shoal/plan/search/segment_search.h"

namespace shoal::plan {
namespace {

// First fit: a worker joins the first group whose first worker is similar. Workers come by falling
// ability, so the first of a group is its ablest. O(workers * groups).
bool near(double a, double b) { return a <= kSimilar * b && b <= kSimilar * a; }

bool similar(const Choices& choices, const ClusterProfile& cluster, int a, int b) {
  const WorkerProfile &worker = cluster.workers[static_cast<size_t>(a)],
                      &other = cluster.workers[static_cast<size_t>(b)];
  const LinkProfile &from = cluster.link_of(a), &to = cluster.link_of(b);
  return near(choices.ability(a), choices.ability(b)) &&
         near(worker.memory_bytes, other.memory_bytes) && from.medium == to.medium &&
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

// Groups one after the other, cut into teams, so that a team may have workers of two groups.
std::vector<std::vector<int>> make_teams(const std::vector<Choices::Group>& groups, size_t size) {
  std::vector<std::vector<int>> teams;
  for (const Choices::Group& group : groups) {
    for (int worker : group) {
      if (teams.empty() || teams.back().size() == size) teams.emplace_back();
      teams.back().push_back(worker);
    }
  }
  return teams;
}

namespace {

constexpr size_t kMostLive = 2;  // values at a cut: a residual and what is added to it
constexpr double kWorthIt = 0.01;
// From this number of workers on, an estimate is so slow that fewer ways are kept at each cut.
constexpr size_t kWide = 64;
// Most workers that share channels: each sends to each, so messages grow with their square.
constexpr size_t kMostOfChannels = 128;

class LevelPlanner {
 public:
  LevelPlanner(const Graph& graph, const ClusterProfile& cluster, const PlanOptions& options)
      : graph_(std::make_shared<const Graph>(graph)),
        cluster_(cluster),
        options_(options),
        choices_(graph, cluster, options.excluded),
        kinds_(options.cuts.empty() ? useful_cuts(graph) : options.cuts),
        cuts_(find_cuts(graph, kMostLive)) {
    std::erase_if(kinds_, [](Cut cut) {
      return cut == Cut::kNone || cut == Cut::kInputs || cut == Cut::kClusters;
    });
    rank();
  }

  Result<std::vector<Prediction>> run() {
    if (choices_.workers().empty()) return invalid("there is no worker to plan for");
    SHOAL_ASSIGN(BestWorker best_worker, plan_for_best(*graph_, cluster_, options_.excluded));
    if (best_worker.has_memory) found_.push_back(std::move(best_worker.plan));
    for (const std::vector<size_t>& sizes : levels()) {
      const double before = seconds_;
      SHOAL_TRY(refine(sizes));
      // If twice as many workers do not help, still more do not either.
      if (seconds_ > (1 - kWorthIt) * before) break;
    }
    if (found_.empty()) return Status(Code::kExhausted, "no worker has memory for its part");
    std::ranges::stable_sort(
        found_, {}, [](const Prediction& prediction) { return prediction.timeline.seconds; });
    return std::move(found_);
  }

 private:
  // A segment apart from the Candidates that made it.
  struct Step {
    size_t begin, end;  // cuts
    Layout layout;
  };

  void rank() {
    const std::vector<Choices::Group> groups = similar_workers(choices_, cluster_);
    orders_.push_back(choices_.workers());
    if (choices_.by_link() != orders_[0]) orders_.push_back(choices_.by_link());
    const auto medium = [&](const Choices::Group& group) {
      return cluster_.link_of(group[0]).medium;
    };
    const bool several = std::ranges::any_of(
        groups, [&](const auto& group) { return medium(group) != medium(groups[0]); });
    if (several) orders_.push_back(in_turn(groups));
    size_t end = 0;
    for (const Choices::Group& group : groups) group_ends_.push_back(end += group.size());
  }

  // Group sizes of each level: the usual ones, and the last end of a group of similar workers.
  std::vector<std::vector<size_t>> levels() const {
    std::vector<std::vector<size_t>> levels(1);
    size_t most = kFirstLevel;
    for (size_t size : group_sizes(choices_.workers().size())) {
      for (; size > most; most *= 2) levels.emplace_back();
      levels.back().push_back(size);
    }
    for (std::vector<size_t>& sizes : levels) {
      if (sizes.empty()) continue;
      const auto end = std::ranges::upper_bound(group_ends_, sizes.back());
      if (end != group_ends_.begin() && *std::prev(end) > sizes.front()) {
        sizes.push_back(*std::prev(end));
      }
    }
    return levels;
  }

  std::vector<Choices::Group> groups_of(const std::vector<size_t>& sizes) const {
    std::vector<Choices::Group> groups;
    for (const std::vector<int>& order : orders_) {
      for (size_t size : sizes) {
        Choices::Group group(order.begin(), order.begin() + static_cast<long>(size));
        if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
      }
    }
    return groups;
  }

  Status refine(const std::vector<size_t>& sizes) {
    const size_t most = sizes.empty() ? 1 : std::ranges::max(sizes);
    Candidates candidates(*graph_, cluster_, cuts_);
    SearchOptions search_options;
    search_options.layouts = layouts_for(candidates, groups_of(sizes));
    search_options.most_nodes = options_.most_nodes;
    if (most > kWide) {
      search_options.width = 4;
      search_options.of_one_layout = 1;
    }
    std::vector<Chain> chains = search(candidates, search_options);
    if (!best_.empty()) chains.push_back(chain_of(candidates, best_));
    const Chain best =
        local_search(candidates, fastest(candidates, chains), search_options.layouts, tries(most));
    const double seconds = simulated_seconds(candidates, best);
    if (best.empty() || seconds >= seconds_) return {};
    seconds_ = seconds;
    best_ = steps_of(candidates, best);
    SHOAL_ASSIGN(ScheduledPlan scheduled, ScheduledPlan::make(graph_, plan_of(candidates, best)));
    found_.push_back(predict(name_of(candidates, best), std::move(scheduled), cluster_));
    return {};
  }

  // One worker, what the best chain has, and every kind of cut over the groups.
  std::vector<size_t> layouts_for(Candidates& candidates,
                                  const std::vector<Choices::Group>& groups) const {
    std::vector<size_t> numbers;
    const auto add = [&](const Layout& layout) {
      const size_t number = candidates.add(layout);
      if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
    };
    for (const Layout& layout : choices_.ones()) add(layout);
    for (const Step& step : best_) add(step.layout);
    for (Cut kind : kinds_) {
      for (const Layout& layout : choices_.over(kind, groups)) {
        if (kind != Cut::kChannels || layout.workers.size() <= kMostOfChannels) add(layout);
      }
    }
    return numbers;
  }

  static Chain fastest(const Candidates& candidates, const std::vector<Chain>& chains) {
    double least = std::numeric_limits<double>::infinity();
    Chain best;
    for (const Chain& chain : chains) {
      const double seconds = simulated_seconds(candidates, chain);
      if (seconds >= least) continue;
      least = seconds;
      best = chain;
    }
    return best;
  }

  static Chain chain_of(Candidates& candidates, const std::vector<Step>& steps) {
    Chain chain;
    for (const auto& [begin, end, layout] : steps) {
      chain.push_back(candidates.find(begin, end, candidates.add(layout)));
    }
    return chain;
  }

  static std::vector<Step> steps_of(const Candidates& candidates, const Chain& chain) {
    std::vector<Step> steps;
    for (const Candidate* candidate : chain) {
      steps.push_back({candidate->begin, candidate->end, candidates.layout(candidate->layout)});
    }
    return steps;
  }

  // The time of a simulation grows with messages, which are up to the square of the workers.
  static size_t tries(size_t workers) { return 4000 / (workers * workers); }

  const std::shared_ptr<const Graph> graph_;
  const ClusterProfile& cluster_;
  const PlanOptions& options_;
  const Choices choices_;
  std::vector<Cut> kinds_;
  const std::vector<size_t> cuts_;
  std::vector<std::vector<int>> orders_;
  std::vector<size_t> group_ends_;
  double seconds_ = std::numeric_limits<double>::infinity();  // of best_
  std::vector<Step> best_;
  std::vector<Prediction> found_;
};

bool allow_levels(const PlanOptions& options) {
  return !options.forced && options.survive == 0 && options.wire.smallest == WireFormat::kF32;
}

}  // namespace

Result<std::vector<Prediction>> make_plans_by_levels(const Graph& graph,
                                                     const ClusterProfile& cluster,
                                                     const PlanOptions& options) {
  if (!allow_levels(options)) {
    return invalid("plans by levels take no forced split, no losses to survive and no wire format");
  }
  return LevelPlanner(graph, cluster, options).run();
}

Result<Comparison> compare_plans_by_levels(const Graph& graph, ClusterProfile cluster,
                                           const PlanOptions& options) {
  SHOAL_ASSIGN(std::vector<Prediction> plans, make_plans_by_levels(graph, cluster, options));
  SHOAL_ASSIGN(BestWorker single, plan_for_best(graph, cluster, options.excluded));
  return Comparison{std::move(cluster), std::move(plans), std::move(single.plan),
                    single.has_memory};
}

bool should_plan_by_levels(const ClusterProfile& cluster, const PlanOptions& options) {
  constexpr size_t kMostForFlat = 64;  // workers, for which the flat search takes seconds
  return count_present(cluster) > kMostForFlat && allow_levels(options);
}

}  // namespace shoal::plan
