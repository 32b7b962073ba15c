// Branches by union-find: before a node, those sets of nodes are branches that are connected by
// values. Inputs of the graph and weights connect nothing, and neither do values computed from them
// without products, such as a flattened image, which each worker computes itself.
#include "shoal/plan/search/branches.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "shoal/plan/cost/plan_stats.h"

namespace shoal::plan {
namespace {

// The sets of connected nodes, as nodes are added.
class Components {
 public:
  explicit Components(const Graph& graph)
      : graph_(graph), parents_(graph.nodes().size()), maker_(graph.value_count(), kNone) {
    std::iota(parents_.begin(), parents_.end(), size_t{0});
  }

  void add(size_t index) {
    const Node& node = graph_.nodes()[index];
    const bool shared =
        macs(graph_, node) == 0 && std::ranges::all_of(node.inputs, [&](ValueId id) {
          return id == kNoValue || is_shared(id);
        });
    if (shared) return;
    for (ValueId id : node.outputs) maker(id) = index;
    ++count_;
    for (ValueId id : node.inputs) {
      if (id == kNoValue || is_shared(id)) continue;
      const size_t a = find(maker(id)), b = find(index);
      if (a == b) continue;
      parents_[std::max(a, b)] = std::min(a, b);
      --count_;
    }
  }

  size_t count() const { return count_; }
  // Whether several branches use it.
  bool is_shared(ValueId id) const { return maker_[static_cast<size_t>(id)] == kNone; }
  // REQUIRES: it is not shared.
  size_t set_of(ValueId id) { return find(maker(id)); }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  size_t& maker(ValueId id) { return maker_[static_cast<size_t>(id)]; }
  size_t find(size_t node) {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }

  const Graph& graph_;
  std::vector<size_t> parents_, maker_;  // by node; by value: the node, kNone if it is shared
  size_t count_ = 0;
};

// A branch with what it needs.
struct BranchWork {
  std::vector<Piece> ends;
  Part part;
  double weight_bytes = 0, activation_bytes = 0;
};

Result<std::vector<BranchWork>> works_of(const Graph& graph, const Branches& branches) {
  std::vector<BranchWork> works;
  for (const std::vector<ValueId>& ends : branches.ends) {
    BranchWork& work = works.emplace_back();
    for (ValueId id : ends) work.ends.push_back({id, Region::whole(graph[id].type.shape)});
    SHOAL_ASSIGN(work.part, make_part(graph, {0, branches.join}, work.ends));
    work.weight_bytes = weight_bytes(graph, work.part);
    work.activation_bytes = activation_bytes(graph, work.part);
  }
  return works;
}

// What one worker has to do so far.
struct Load {
  double seconds = 0, weight_bytes = 0;
  std::vector<Piece> ends;
};

// By worker; empty if a branch finds no worker.
std::map<int, Load> divide(const Graph& graph, const ClusterProfile& cluster,
                           const std::vector<int>& workers, std::vector<BranchWork> works) {
  const auto profile = [&](int w) -> const WorkerProfile& {
    return cluster.workers[static_cast<size_t>(w)];
  };
  std::ranges::stable_sort(works, std::ranges::greater(), [&](const BranchWork& work) {
    return seconds_of(graph, work.part, profile(workers[0]));
  });
  std::map<int, Load> loads;
  for (const BranchWork& work : works) {
    int best = kCoordinator;
    double soonest = std::numeric_limits<double>::infinity();
    for (int w : workers) {
      const double bytes = loads[w].weight_bytes + work.weight_bytes + work.activation_bytes;
      const double seconds = loads[w].seconds + seconds_of(graph, work.part, profile(w));
      if (bytes > profile(w).memory_bytes || seconds >= soonest) continue;
      best = w;
      soonest = seconds;
    }
    if (best == kCoordinator) return {};
    Load& load = loads[best];
    load.seconds = soonest;
    load.weight_bytes += work.weight_bytes;
    load.ends.insert(load.ends.end(), work.ends.begin(), work.ends.end());
  }
  std::erase_if(loads, [](const auto& entry) { return entry.second.ends.empty(); });
  return loads;
}

}  // namespace

std::optional<Branches> find_branches(const Graph& graph) {
  const size_t nodes = graph.nodes().size();
  Components counted(graph);
  size_t most = 1, join = 0;
  for (size_t i = 0; i < nodes; ++i) {
    counted.add(i);
    if (counted.count() < most) continue;
    most = counted.count();
    join = i + 1;
  }
  if (most < 2 || join == nodes) return std::nullopt;
  Components components(graph);
  for (size_t i = 0; i < join; ++i) components.add(i);
  std::map<size_t, std::vector<ValueId>> ends;
  for (ValueId id : live_after(graph, {0, join})) {
    if (components.is_shared(id)) return std::nullopt;
    ends[components.set_of(id)].push_back(id);
  }
  if (ends.size() < 2) return std::nullopt;  // some set is read by nothing
  Branches branches{join, {}};
  for (auto& [set, values] : ends) branches.ends.push_back(std::move(values));
  return branches;
}

Result<std::optional<Prediction>> plan_branches(const Graph& graph, const Branches& branches,
                                                const ClusterProfile& cluster,
                                                const std::vector<int>& workers) {
  SHOAL_ASSIGN(std::vector<BranchWork> works, works_of(graph, branches));
  const std::map<int, Load> loads = divide(graph, cluster, workers, std::move(works));
  const NodeRange before{0, branches.join}, after{branches.join, graph.nodes().size()};
  const std::string split = "branches over " + std::to_string(loads.size());
  const auto shared = std::make_shared<const Graph>(graph);
  std::optional<Prediction> best;
  for (const auto& [joins, unused] : loads) {
    Plan plan{{{before, split, {}}, {after, "one worker", {{joins, whole_pieces(graph, after)}}}}};
    for (const auto& [w, load] : loads) plan.segments[0].tasks.push_back({w, load.ends});
    SHOAL_ASSIGN(ScheduledPlan scheduled, ScheduledPlan::make(shared, std::move(plan)));
    Prediction prediction = predict("branches", std::move(scheduled), cluster);
    if (!fits(cluster, prediction)) continue;
    if (!best || prediction.timeline.seconds < best->timeline.seconds) best = std::move(prediction);
  }
  return best;
}

}  // namespace shoal::plan
