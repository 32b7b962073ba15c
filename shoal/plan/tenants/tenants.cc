// Joint plans by pools and best responses. The cost of plans p_1 .. p_k is the largest slowdown,
//
//   cost = max_i seconds(p_i among the others) / seconds(best plan of i alone)
//
// so that no model starves: a plan that gives one model all workers lets the others wait, and costs
// more than one that shares them.
//
//   1. A pool for each model: the planner's plans on all workers, on subsets of them, and on each
//      worker alone.
//   2. To each pool, plans for what single plans of the next model leave (tenants.h), and on few
//      workers all chains of the beam search.
//   3. The best combination of the pools, tried in the order of falling speed and cut off by the
//      bound that no tenant is faster among others than alone.
//   4. For each of the best combinations, each model is planned for what all others leave, and the
//      new plans join its pool. Then 3 again, until nothing is gained.
//
// A model's own requests do not wait for each other here: that is for rates far below what a plan
// can answer. Above that, is_met() fails.
#include "shoal/plan/tenants/tenants.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/hierarchy/levels.h"
#include "shoal/plan/search/choices.h"
#include "shoal/plan/search/segment_search.h"

namespace shoal::plan {
namespace {

// Sharing a machine in time. A worker that others keep busy for a part u of the time gives the rest
// of it to a task, if it turns from one to the other often enough (processor sharing):
//
//   seconds among others = seconds alone / (1 - u)
//
// The same holds for the bandwidth of a link and of a medium. A machine sends, receives and shares
// its medium at the same time, so the busiest of the three decides.
constexpr double kLeast = 0.01;  // of a worker's time: with less left, it is of no use

void add(std::vector<double>& sum, const std::vector<double>& more) {
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

// The part of its time that a machine's link has left.
double left_of_link(const Demand& others, const ClusterProfile& cluster, int machine) {
  double busy = 0;
  // From the machine to itself: its way out, its way in, its medium.
  for (Resource resource : resources_of(cluster, machine, machine)) {
    busy = std::max(busy, others.network[resource]);
  }
  return std::max(1 - busy, kLeast);
}

double left_of_worker(const Demand& others, size_t worker) {
  return std::max(1 - others.compute[worker], kLeast);
}

}  // namespace

Demand demand_of(const Prediction& prediction, const Steps& steps, const ClusterProfile& cluster,
                 double requests) {
  Demand demand{std::vector<double>(cluster.workers.size()),
                std::vector<double>(resource_count(cluster)),
                memory_bytes(prediction.graph(), prediction.plan(), prediction.schedule(),
                             cluster.workers.size())};
  for (size_t w = 0; w < steps.tasks.size(); ++w) {
    for (const TaskStep& task : steps.tasks[w]) demand.compute[w] += requests * task.seconds;
  }
  for (const Message& message : steps.messages) {
    for (Resource resource : message.uses) demand.network[resource] += requests * message.seconds;
  }
  return demand;
}

Demand sum_of(std::span<const Demand> demands, const ClusterProfile& cluster) {
  const size_t workers = cluster.workers.size();
  Demand sum{std::vector<double>(workers), std::vector<double>(resource_count(cluster)),
             std::vector<double>(workers)};
  for (const Demand& demand : demands) {
    add(sum.compute, demand.compute);
    add(sum.network, demand.network);
    add(sum.memory, demand.memory);
  }
  return sum;
}

bool is_met(const Demand& total, const ClusterProfile& cluster) {
  const auto in_time = [](double part) { return part <= 1; };
  if (!std::ranges::all_of(total.compute, in_time)) return false;
  if (!std::ranges::all_of(total.network, in_time)) return false;
  for (size_t w = 0; w < total.memory.size(); ++w) {
    if (total.memory[w] > cluster.workers[w].memory_bytes) return false;
  }
  return true;
}

ClusterProfile left_by(const Demand& others, const ClusterProfile& cluster) {
  ClusterProfile left = cluster;
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    WorkerProfile& worker = left.workers[w];
    const double time = left_of_worker(others, w);
    const double link = left_of_link(others, cluster, static_cast<int>(w));
    worker.memory_bytes -= others.memory[w];
    if (time <= kLeast || link <= kLeast || worker.memory_bytes <= 0) worker.present = false;
    scale(worker, 1 / time);
    left.links[w].bytes_per_second *= link;
  }
  left.coordinator.bytes_per_second *= left_of_link(others, cluster, kCoordinator);
  return left;
}

double seconds_among(const Demand& others, Steps steps, const ClusterProfile& cluster) {
  for (size_t w = 0; w < steps.tasks.size(); ++w) {
    for (TaskStep& task : steps.tasks[w]) task.seconds /= left_of_worker(others, w);
  }
  std::vector<double> bandwidth;  // by machine, the coordinator first
  for (int m = kCoordinator; m < std::ssize(cluster.workers); ++m) {
    bandwidth.push_back(cluster.link_of(m).bytes_per_second * left_of_link(others, cluster, m));
  }
  for (Message& message : steps.messages) {
    const double out = bandwidth[static_cast<size_t>(message.from + 1)];
    const double in = bandwidth[static_cast<size_t>(message.to + 1)];
    message.seconds = message.bytes / std::min(out, in);
  }
  return answer_seconds(steps, cluster);
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A plan of one tenant's pool.
struct Option {
  Prediction prediction;  // as if it were alone
  Steps steps;
  Demand demand;
};

// The largest slowdown and, among equals, the sum of all.
struct Cost {
  double largest = kNever, sum = kNever;
  auto operator<=>(const Cost&) const = default;
};

constexpr size_t kMostLive = 2;  // values at a cut: a residual and what is added to it

// One option of each pool.
struct Combination {
  Cost cost;
  std::vector<size_t> chosen;
};
constexpr size_t kKept = 4;  // combinations to respond to

// The planner that is fast enough.
Result<std::vector<Prediction>> plans_for(const Graph& graph, const ClusterProfile& cluster,
                                          const PlanOptions& options) {
  constexpr size_t kMostForFlat = 16;  // workers
  const bool many = Choices(graph, cluster, options.excluded).workers().size() > kMostForFlat;
  return many ? make_plans_by_levels(graph, cluster, options) : make_plans(graph, cluster, options);
}

// Subsets of workers: all of few. Of many, the ablest and the least able, by quarters: those that
// tenants that share no worker might have.
std::vector<std::vector<int>> subsets_of(const std::vector<int>& workers) {
  constexpr size_t kFew = 4, kParts = 4;
  std::vector<std::vector<int>> subsets;
  if (workers.size() <= kFew) {
    for (size_t bits = 1; bits < size_t{1} << workers.size(); ++bits) {
      auto& subset = subsets.emplace_back();
      for (size_t i = 0; i < workers.size(); ++i) {
        if ((bits >> i & 1) != 0) subset.push_back(workers[i]);
      }
    }
    return subsets;
  }
  subsets.push_back(workers);
  for (size_t part = 1; part < kParts; ++part) {
    const auto at = static_cast<long>(workers.size() * part / kParts);
    subsets.emplace_back(workers.begin(), workers.begin() + at);
    subsets.emplace_back(workers.begin() + at, workers.end());
  }
  return subsets;
}

// A plan for the remaining capacity ignores what it takes from others. If a worker seems to have
// even less left, the plan avoids it.
constexpr double kLeftOver[] = {0.6, 0.3};
constexpr size_t kMostSpared = 4;  // workers, one at a time

Demand sparing(Demand others, int worker, double part) {
  double& busy = others.compute[static_cast<size_t>(worker)];
  busy = 1 - part * (1 - busy);
  return others;
}

class JointPlanner {
 public:
  JointPlanner(std::span<const Tenant> tenants, const ClusterProfile& cluster,
               const PlanOptions& options)
      : tenants_(tenants), cluster_(cluster), options_(options), pools_(tenants.size()) {}

  Result<std::vector<TenantPlan>> run() {
    for (size_t i = 0; i < tenants_.size(); ++i) SHOAL_TRY(fill(i));
    for (size_t i = 0; i < tenants_.size(); ++i) SHOAL_TRY(respond_to_each(i));
    choose();
    if (best_.empty()) {
      return Status(Code::kExhausted, "the workers have not the time or memory for all models");
    }
    constexpr int kMostRounds = 4;
    for (int round = 0; round < kMostRounds; ++round) {
      const Cost before = best_[0].cost;
      for (const Combination& beside : std::vector(best_)) {
        for (size_t i = 0; i < tenants_.size(); ++i) SHOAL_TRY(respond(i, beside.chosen));
      }
      choose();
      if (best_[0].cost >= before) break;
    }
    return result();
  }

 private:
  Status fill(size_t i) {
    const Graph& graph = *tenants_[i].graph;
    const std::vector<int> workers = Choices(graph, cluster_, options_.excluded).workers();
    SHOAL_TRY(add_plans(i, cluster_, options_));
    if (pools_[i].empty()) return Status(Code::kExhausted, "no worker has memory for its part");
    alone_.push_back(pools_[i].front().prediction);
    for (const std::vector<int>& subset : subsets_of(workers)) {
      PlanOptions options = options_;
      for (int worker : workers) {
        if (std::ranges::find(subset, worker) == subset.end()) options.excluded.push_back(worker);
      }
      SHOAL_TRY(add_plans(i, cluster_, options));
    }
    for (int worker : workers) {
      SHOAL_ASSIGN(Prediction alone, plan_for_one(graph, cluster_, worker));
      add(i, std::move(alone));
    }
    return {};
  }

  // Plans for the cluster, or for what others leave of it, join the pool.
  Status add_plans(size_t i, const ClusterProfile& cluster, const PlanOptions& options) {
    auto plans = plans_for(*tenants_[i].graph, cluster, options);
    if (plans.status().code() == Code::kExhausted) return {};
    if (!plans.ok()) return plans.status();
    for (Prediction& prediction : *plans) {
      add(i, predict(std::move(prediction.name), std::move(prediction.scheduled), cluster_));
    }
    return {};
  }

  void add(size_t i, Prediction prediction) {
    const auto is_known = [&](const Option& option) {
      return option.prediction.plan() == prediction.plan();
    };
    if (!fits(cluster_, prediction) || std::ranges::any_of(pools_[i], is_known)) return;
    Steps steps =
        make_steps(prediction.graph(), prediction.plan(), prediction.schedule(), cluster_);
    Demand demand = demand_of(prediction, steps, cluster_, tenants_[i].requests_per_second);
    pools_[i].push_back({std::move(prediction), std::move(steps), std::move(demand)});
  }

  double bound(size_t i, const Option& option) const {
    return option.prediction.timeline.seconds / alone_[i].timeline.seconds;
  }

  // The best combination, by depth-first search. Of many tenants, only the fastest plans of each.
  void choose() {
    constexpr double kMostTries = 20'000;
    const auto tenants = static_cast<double>(pools_.size());
    const auto most = static_cast<size_t>(std::max(2.0, std::pow(kMostTries, 1 / tenants)));
    std::vector<std::vector<size_t>> orders;  // by tenant
    for (const std::vector<Option>& pool : pools_) {
      std::vector<size_t>& order = orders.emplace_back(pool.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::ranges::stable_sort(order, {},
                               [&](size_t o) { return pool[o].prediction.timeline.seconds; });
      order.resize(std::min(order.size(), most));
    }
    std::vector<size_t> chosen;
    choose_from(chosen, orders);
  }

  void choose_from(std::vector<size_t>& chosen, const std::vector<std::vector<size_t>>& orders) {
    const size_t i = chosen.size();
    if (i == pools_.size()) return keep(chosen);
    for (size_t o : orders[i]) {
      if (bound(i, pools_[i][o]) >= worst_kept()) break;
      chosen.push_back(o);
      choose_from(chosen, orders);
      chosen.pop_back();
    }
  }

  double worst_kept() const { return best_.size() < kKept ? kNever : best_.back().cost.largest; }

  void keep(const std::vector<size_t>& chosen) {
    if (std::ranges::find(best_, chosen, &Combination::chosen) != best_.end()) return;
    const Cost cost = cost_of(chosen);
    if (cost.largest >= worst_kept()) return;
    best_.insert(std::ranges::upper_bound(best_, cost, {}, &Combination::cost), {cost, chosen});
    if (best_.size() > kKept) best_.pop_back();
  }

  Demand demand_of_others(const std::vector<size_t>& chosen, size_t me) const {
    std::vector<Demand> demands;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (i != me) demands.push_back(pools_[i][chosen[i]].demand);
    }
    return sum_of(demands, cluster_);
  }

  Cost cost_of(const std::vector<size_t>& chosen) const {
    if (!is_met(demand_of_others(chosen, chosen.size()), cluster_)) return {};
    Cost cost{0, 0};
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Option& mine = pools_[i][chosen[i]];
      const double seconds = seconds_among(demand_of_others(chosen, i), mine.steps, cluster_);
      const double slowdown = seconds / alone_[i].timeline.seconds;
      cost.largest = std::max(cost.largest, slowdown);
      cost.sum += slowdown;
    }
    return cost;
  }

  // Plans of one tenant for what the next one leaves, for the fastest of that one's plans on each
  // set of workers.
  Status respond_to_each(size_t i) {
    constexpr size_t kMostSets = 8;
    const std::vector<Option>& pool = pools_[(i + 1) % pools_.size()];
    std::vector<std::pair<std::vector<int>, const Option*>> fastest;
    for (const Option& option : pool) {
      const std::vector<int> set = workers_of(option.prediction.plan());
      const auto known = std::ranges::find(fastest, set, [](const auto& one) { return one.first; });
      if (known == fastest.end()) {
        if (fastest.size() < kMostSets) fastest.push_back({set, &option});
      } else if (option.prediction.timeline.seconds < known->second->prediction.timeline.seconds) {
        known->second = &option;
      }
    }
    std::vector<Demand> demands;  // apart from the pool, which may be the one that grows
    for (const auto& [set, option] : fastest) demands.push_back(option->demand);
    for (const Demand& demand : demands) SHOAL_TRY(add_plans_beside(i, demand));
    return {};
  }

  Status add_plans_beside(size_t i, const Demand& others) {
    const ClusterProfile left = left_by(others, cluster_);
    if (count_present(left) == 0) return {};
    SHOAL_TRY(add_plans(i, left, options_));
    return add_chains(i, left);
  }

  // All that the beam search of the planner finds, not only the fastest: a slower plan may leave
  // more to the others.
  Status add_chains(size_t i, const ClusterProfile& cluster) {
    constexpr size_t kFew = 4;  // workers; with more, plans of other kinds differ enough
    const Graph& graph = *tenants_[i].graph;
    const Choices choices(graph, cluster, options_.excluded);
    if (choices.workers().empty() || choices.workers().size() > kFew) return {};
    Candidates candidates(graph, cluster, find_cuts(graph, kMostLive));
    SearchOptions search_options;
    for (const Layout& layout : choices.ones())
      search_options.layouts.push_back(candidates.add(layout));
    for (Cut cut : {Cut::kRows, Cut::kChannels}) {
      for (const Layout& layout : choices.of(cut, false)) {
        search_options.layouts.push_back(candidates.add(layout));
      }
    }
    for (const Chain& chain : search(candidates, search_options)) {
      SHOAL_ASSIGN(ScheduledPlan scheduled, ScheduledPlan::make(graph, plan_of(candidates, chain)));
      add(i, predict(name_of(candidates, chain), std::move(scheduled), cluster_));
    }
    return {};
  }

  // Plans of one tenant beside those chosen for the others, unchanged and sparing one more worker.
  Status respond(size_t i, std::vector<size_t> chosen) {
    const Demand others = demand_of_others(chosen, i);
    std::vector<int> used = workers_of(pools_[i][chosen[i]].prediction.plan());
    chosen[i] = 0;  // it does not matter to a response
    const auto is_new = [&](int worker, double part) {
      return answered_.emplace(i, chosen, worker, part).second;
    };
    if (is_new(kCoordinator, 1)) SHOAL_TRY(add_plans_beside(i, others));
    std::ranges::stable_sort(used, std::greater(), [&](int worker) {
      return others.compute[static_cast<size_t>(worker)];
    });
    for (size_t w = 0; w < std::min(used.size(), kMostSpared); ++w) {
      for (double part : kLeftOver) {
        if (is_new(used[w], part)) {
          SHOAL_TRY(add_plans_beside(i, sparing(others, used[w], part)));
        }
      }
    }
    return {};
  }

  std::vector<TenantPlan> result() const {
    std::vector<TenantPlan> plans;
    const std::vector<size_t>& chosen = best_[0].chosen;
    for (size_t i = 0; i < tenants_.size(); ++i) {
      const Option& mine = pools_[i][chosen[i]];
      const ClusterProfile left = left_by(demand_of_others(chosen, i), cluster_);
      plans.push_back(
          {predict(mine.prediction.name, mine.prediction.scheduled, left), alone_[i], mine.demand});
    }
    return plans;
  }

  const std::span<const Tenant> tenants_;
  const ClusterProfile& cluster_;
  const PlanOptions& options_;
  std::vector<std::vector<Option>> pools_;  // by tenant
  std::vector<Prediction> alone_;           // likewise
  std::vector<Combination> best_;           // the best first
  // Responses planned already: tenant, plans of the others, spared worker, part.
  std::set<std::tuple<size_t, std::vector<size_t>, int, double>> answered_;
};

}  // namespace

Result<std::vector<TenantPlan>> plan_tenants(std::span<const Tenant> tenants,
                                             const ClusterProfile& cluster,
                                             const PlanOptions& options) {
  for (const Tenant& tenant : tenants) {
    if (!(tenant.requests_per_second > 0)) return invalid("a model needs a positive rate");
  }
  return JointPlanner(tenants, cluster, options).run();
}

}  // namespace shoal::plan
