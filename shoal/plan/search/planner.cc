// The planner. For each kind of cut, and for all kinds together:
//
//   1. choices.cc finds the places where segments may end and the layouts worth trying;
//   2. segment_search.cc estimates chains of segments by dynamic programming with a beam;
//   3. the best chains are simulated, and improved under the simulation;
//   4. the best one is predicted in full.
//
// Products as sums of terms (partial sums) and layers by clusters change the graph, so they are
// planned apart. Everything is deterministic: equal graphs, profiles and options give equal plans.
#include "shoal/plan/search/planner.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "shoal/plan/coding/products.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/branches.h"
#include "shoal/plan/search/choices.h"
#include "shoal/plan/search/find_clusters.h"
#include "shoal/plan/search/plan_recipe.h"
#include "shoal/plan/search/segment_search.h"
#include "shoal/plan/search/survive.h"

namespace shoal::plan {
namespace {

// Products to be computed as sums: all of them, or only products of matrices with more weights than
// outputs, because terms have to travel. Convolutions are left out: they make the search too slow.
std::vector<SumOfTerms> find_sums(const Graph& graph, const std::vector<double>& shares, bool all) {
  std::vector<SumOfTerms> sums;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    double weights = 0;
    for (ValueId id : node.inputs) {
      if (id != kNoValue && graph[id].constant)
        weights += static_cast<double>(graph[id].type.bytes());
    }
    const TensorType& output = graph[node.outputs[0]].type;
    const bool heavy = output.shape.rank() <= 3 && weights > static_cast<double>(output.bytes());
    if ((heavy || (all && weights > 0)) && can_be_sum(graph, node)) sums.push_back({i, shares});
  }
  return sums;
}

// Plans for one form of the graph.
class Planner {
 public:
  Planner(const Graph& graph, const ClusterProfile& cluster, const PlanOptions& options,
          const Choices& choices, ToSurvive survive = {})
      : graph_(graph),
        cluster_(cluster),
        options_(options),
        choices_(choices),
        candidates_(graph, cluster, find_cuts(graph, kMostLive), std::move(survive)) {}

  // The best on one worker, with each of these cuts, and with all of them.
  Result<std::vector<Prediction>> run(std::vector<Cut> cuts) {
    const bool may_be_one = !options_.forced || cuts.empty() || cuts[0] == Cut::kNone;
    if (may_be_one || choices_.workers().size() == 1) SHOAL_TRY(try_one());
    std::erase(cuts, Cut::kNone);
    if (choices_.workers().size() > 1) {
      for (Cut cut : cuts) SHOAL_TRY(try_cuts({cut}));
      if (cuts.size() > 1) SHOAL_TRY(try_cuts(cuts));
    }
    return std::move(found_);
  }

  // The best with all of these cuts.
  Result<std::vector<Prediction>> run_mixed(const std::vector<Cut>& cuts) {
    SHOAL_TRY(try_cuts(cuts));
    return std::move(found_);
  }

  // The best with these cuts that uses one by value. Clusters are also tried alone: other cuts gain
  // from blocks, too, and the best mixture may do without clusters.
  Result<std::vector<Prediction>> run_by_value(Cut cut, std::vector<Cut> cuts) {
    if (cut == Cut::kClusters) SHOAL_TRY(try_cuts({cut}));
    cuts.insert(cuts.begin(), cut);
    SHOAL_TRY(try_cuts(cuts));
    std::erase_if(found_, [&](const Prediction& prediction) {
      return prediction.name.find(plan::name_of(cut)) == std::string::npos;
    });
    return std::move(found_);
  }

 private:
  static constexpr size_t kMostLive = 2;  // values at a cut: a residual and what is added to it

  Status try_one() {
    std::optional<Prediction> best;
    for (int worker : choices_.workers()) {
      SHOAL_ASSIGN(Prediction alone, plan_for_one(graph_, cluster_, worker));
      if (!fits(cluster_, alone)) continue;
      if (!best || alone.timeline.seconds < best->timeline.seconds) best = std::move(alone);
    }
    if (best) found_.push_back(*std::move(best));
    return {};
  }

  // The best plan with these cuts, if there is one and it is new.
  Status try_cuts(const std::vector<Cut>& cuts) {
    SearchOptions search_options;
    search_options.forced = options_.forced;
    search_options.most_nodes = options_.most_nodes;
    std::vector<Layout> layouts = choices_.ones();
    for (Cut cut : cuts) {
      for (Layout& layout : choices_.of(cut, options_.forced)) layouts.push_back(std::move(layout));
    }
    // With forced clusters, their hub computes everything else.
    if (options_.forced && std::ranges::find(cuts, Cut::kClusters) != cuts.end()) {
      std::erase_if(layouts, [&](const Layout& layout) {
        return layout.cut == Cut::kNone && layout.workers[0] != choices_.workers()[0];
      });
    }
    for (const Layout& layout : layouts) search_options.layouts.push_back(candidates_.add(layout));
    const Chain best = best_of(search(candidates_, search_options), search_options.layouts);
    if (best.empty()) return {};
    SHOAL_ASSIGN(ScheduledPlan scheduled, ScheduledPlan::make(graph_, plan_of(candidates_, best)));
    Prediction prediction = predict(name_of(candidates_, best), std::move(scheduled), cluster_);
    if (std::ranges::find(found_, prediction.plan(), &Prediction::plan) == found_.end()) {
      found_.push_back(std::move(prediction));
    }
    return {};
  }

  // Simulates the chains that the search estimated, and improves the best. With forced cuts the
  // local search is skipped: it could replace them.
  Chain best_of(const std::vector<Chain>& chains, const std::vector<size_t>& layouts) {
    std::vector<std::pair<double, Chain>> order;
    for (const Chain& chain : chains) {
      const double seconds = simulated_seconds(candidates_, chain);
      if (seconds < std::numeric_limits<double>::infinity()) order.push_back({seconds, chain});
    }
    std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
    if (order.size() > starts()) order.resize(starts());
    if (options_.forced) return order.empty() ? Chain() : order[0].second;
    double least = std::numeric_limits<double>::infinity();
    Chain best;
    for (auto& [seconds, chain] : order) {
      chain = local_search(candidates_, std::move(chain), layouts, tries());
      seconds = simulated_seconds(candidates_, chain);
      if (seconds < least) {
        least = seconds;
        best = chain;
      }
    }
    return best;
  }

  size_t starts() const { return choices_.workers().size() <= 4 ? 3 : 1; }

  // The time of a simulation grows with messages, which are up to the square of the workers.
  size_t tries() const {
    const size_t workers = choices_.workers().size();
    return 4000 / (workers * workers);
  }

  const Graph& graph_;
  const ClusterProfile& cluster_;
  const PlanOptions& options_;
  const Choices& choices_;
  Candidates candidates_;
  std::vector<Prediction> found_;
};

}  // namespace

// Columns only pay where images are wider than high.
std::vector<Cut> useful_cuts(const Graph& graph) {
  bool images = false, wide = false, batch = false;
  for (const Node& node : graph.nodes()) {
    const Shape& shape = graph[node.outputs[0]].type.shape;
    batch = batch || (shape.rank() > 1 && shape[0] > 1);
    images = images || shape.rank() >= 4;
    wide = wide || (shape.rank() >= 4 && shape[3] > shape[2]);
  }
  std::vector<Cut> cuts = {Cut::kRows, Cut::kChannels};
  if (images) cuts.push_back(Cut::kGrid);
  if (wide) cuts.push_back(Cut::kColumns);
  if (batch) cuts.push_back(Cut::kBatch);
  cuts.push_back(Cut::kInputs);
  cuts.push_back(Cut::kClusters);
  return cuts;
}

Prediction predict(std::string name, ScheduledPlan scheduled, const ClusterProfile& cluster) {
  Timeline timeline = simulate(scheduled.graph(), scheduled.plan(), scheduled.schedule(), cluster);
  Prediction prediction{std::move(name), std::move(scheduled), std::move(timeline)};
  prediction.origin.name = prediction.name;
  prediction.origin.plan = prediction.plan();
  return prediction;
}

bool fits(const ClusterProfile& cluster, const Prediction& prediction) {
  const std::vector<double> bytes = memory_bytes(prediction.graph(), prediction.plan(),
                                                 prediction.schedule(), cluster.workers.size());
  for (size_t w = 0; w < bytes.size(); ++w) {
    if (bytes[w] > cluster.workers[w].memory_bytes) return false;
  }
  return true;
}

Result<Prediction> plan_for_one(const Graph& graph, const ClusterProfile& cluster, int worker) {
  const NodeRange all{0, graph.nodes().size()};
  const Layout layout{Cut::kNone, {worker}, {1}, 1};
  Plan plan;
  plan.segments.push_back({all, layout.describe(), {{worker, whole_pieces(graph, all)}}});
  SHOAL_ASSIGN(ScheduledPlan scheduled, ScheduledPlan::make(graph, std::move(plan)));
  return predict(std::string(name_of(Cut::kNone)), std::move(scheduled), cluster);
}

namespace {

// Each branch on a worker, if the graph has branches with most of its work.
Status try_branches(const Graph& graph, const ClusterProfile& cluster, const Choices& choices,
                    std::vector<Prediction>& predictions) {
  const std::optional<Branches> branches = find_branches(graph);
  if (!branches || choices.workers().size() < 2) return {};
  int64_t before = 0, all = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    all += macs(graph, graph.nodes()[i]);
    if (i < branches->join) before = all;
  }
  if (before <= all / 2) return {};
  SHOAL_ASSIGN(std::optional<Prediction> branched,
               plan_branches(graph, *branches, cluster, choices.workers()));
  if (branched) predictions.push_back(*std::move(branched));
  return {};
}

// Plans that compute sparse layers by clusters, if any.
Result<std::vector<Prediction>> find_clustered(const Graph& graph, const ClusterProfile& cluster,
                                               const PlanOptions& options, const Choices& choices,
                                               const std::vector<Cut>& cuts) {
  const Layout layout = choices.by_value(Cut::kClusters, options.forced);
  const auto layers = find_clustered_layers(graph, cluster, layout);
  if (layers.empty()) return std::vector<Prediction>();
  auto clustered = with_clusters(graph, layers);
  if (!clustered.ok() && clustered.status().code() == Code::kUnsupported) {
    return std::vector<Prediction>();
  }
  SHOAL_TRY(clustered.status());
  Planner planner(clustered->graph, cluster, options, choices);
  SHOAL_ASSIGN(auto clusterings, planner.run_by_value(Cut::kClusters, cuts));
  for (Prediction& prediction : clusterings) {
    prediction.origin.clusters = layers;
    prediction.origin.dense_bytes = clustered->dense_bytes;
  }
  return clusterings;
}

// Plans in no particular order, without narrow wire formats.
Result<std::vector<Prediction>> find_plans(const Graph& graph, const ClusterProfile& cluster,
                                           const PlanOptions& options) {
  constexpr size_t kMostForSums = 16;  // workers; with more, terms cost more than they save
  const Choices choices(graph, cluster, options.excluded);
  if (choices.workers().empty()) return invalid("there is no worker to plan for");
  std::vector<Cut> cuts = options.cuts.empty() ? useful_cuts(graph) : options.cuts;
  const bool few =
      choices.workers().size() > 1 && (options.forced || choices.workers().size() <= kMostForSums);
  const bool inputs = std::erase(cuts, Cut::kInputs) > 0 && few;
  const bool clusters = std::erase(cuts, Cut::kClusters) > 0 && few;
  std::vector<Prediction> predictions;
  if (inputs) {
    const Layout terms = choices.by_value(Cut::kInputs, options.forced);
    const auto sums = find_sums(graph, terms.shares, options.forced);
    if (!sums.empty()) {
      SHOAL_ASSIGN(const Graph summed, with_partial_sums(graph, sums));
      SHOAL_ASSIGN(predictions,
                   Planner(summed, cluster, options, choices).run_by_value(Cut::kInputs, cuts));
      for (Prediction& prediction : predictions) prediction.origin.sums = sums;
    }
  }
  if (clusters) {
    SHOAL_ASSIGN(auto clustered, find_clustered(graph, cluster, options, choices, cuts));
    for (Prediction& prediction : clustered) predictions.push_back(std::move(prediction));
  }
  if (!options.forced || predictions.empty()) {
    SHOAL_ASSIGN(std::vector<Prediction> others,
                 Planner(graph, cluster, options, choices).run(cuts));
    for (Prediction& other : others) predictions.push_back(std::move(other));
  }
  if (options.cuts.empty() && !options.forced) {
    SHOAL_TRY(try_branches(graph, cluster, choices, predictions));
  }
  if (predictions.empty()) return Status(Code::kExhausted, "no worker has memory for its part");
  return predictions;
}

}  // namespace

// The same plans with fewer bytes on the wire, if that changes anything, and plans that would be
// best on links that are faster by that factor. The coordinator's link keeps its speed where its
// messages are not rounded.
Result<std::vector<Prediction>> make_narrow_plans(const Graph& graph, const ClusterProfile& cluster,
                                                  const PlanOptions& options,
                                                  std::vector<Prediction> plans) {
  ClusterProfile faster = cluster;
  const double times = options.wire.smallest == WireFormat::kI8 ? 4 : 2;
  for (LinkProfile& link : faster.links) link.bytes_per_second *= times;
  if (options.wire.inputs) faster.coordinator.bytes_per_second *= times;
  SHOAL_ASSIGN(const std::vector<Prediction> more, find_plans(graph, faster, options));
  plans.insert(plans.end(), more.begin(), more.end());
  std::vector<Prediction> predictions;
  for (const Prediction& prediction : plans) {
    SHOAL_ASSIGN(Prediction narrow, with_narrow_wire(prediction, cluster, options.wire));
    if (narrow.error > 0 && fits(cluster, narrow)) predictions.push_back(std::move(narrow));
  }
  return predictions;
}

Result<std::vector<Prediction>> find_protectable(const Graph& graph, const ClusterProfile& cluster,
                                                 const PlanOptions& options, double repeat_weight) {
  const Choices choices(graph, cluster, options.excluded);
  std::vector<Cut> cuts = options.cuts.empty() ? useful_cuts(graph) : options.cuts;
  // Terms and blocks are products themselves, and cannot be coded.
  std::erase(cuts, Cut::kInputs);
  std::erase(cuts, Cut::kClusters);
  if (choices.workers().size() < 2 || cuts.empty()) return std::vector<Prediction>();
  ToSurvive survive{static_cast<size_t>(options.survive), choices.workers(), repeat_weight};
  return Planner(graph, cluster, options, choices, std::move(survive)).run_mixed(cuts);
}

Result<std::vector<Prediction>> make_plans(const Graph& graph, const ClusterProfile& cluster,
                                           const PlanOptions& options) {
  if (options.survive > 0) return make_surviving_plans(graph, cluster, options);
  SHOAL_ASSIGN(std::vector<Prediction> predictions, find_plans(graph, cluster, options));
  if (options.wire.smallest != WireFormat::kF32) {
    SHOAL_ASSIGN(std::vector<Prediction> wired,
                 make_narrow_plans(graph, cluster, options, predictions));
    for (Prediction& prediction : wired) predictions.push_back(std::move(prediction));
  }
  std::ranges::stable_sort(
      predictions, {}, [](const Prediction& prediction) { return prediction.timeline.seconds; });
  return predictions;
}

}  // namespace shoal::plan
