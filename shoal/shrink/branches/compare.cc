#include "shoal/shrink/branches/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "shoal/model/passes/passes.h"
#include "shoal/plan/search/branches.h"
#include "shoal/plan/search/plan_recipe.h"
#include "shoal/shrink/compress/units/residual_blocks.h"
#include "shoal/train/step/weights/initial_weights.h"

namespace shoal::branch {
namespace {

std::vector<int> workers_in(const plan::ClusterProfile& cluster) {
  std::vector<int> workers;
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    if (cluster.workers[w].present) workers.push_back(static_cast<int>(w));
  }
  return workers;
}

// The network as a plan sees it. Where there are more branches than channels, several begin with
// the same weights, and passes would merge them: times are those of branches that have learned.
Result<Graph> as_learned(const Graph& branched) {
  SHOAL_ASSIGN(const Graph fresh, train::with_initial_weights(branched, 1));
  return passes::optimize(fresh);
}

Result<std::optional<plan::Prediction>> planned(const Graph& graph,
                                                const plan::ClusterProfile& cluster) {
  const std::optional<plan::Branches> branches = plan::find_branches(graph);
  if (!branches) return invalid("the network has no branches");
  return plan::plan_branches(graph, *branches, cluster, workers_in(cluster));
}

Result<std::optional<plan::Prediction>> planned(const Graph& graph, const BranchOptions& options,
                                                const plan::ClusterProfile& cluster) {
  SHOAL_ASSIGN(const Branched branched, make_branches(graph, options));
  return plan_of(branched.graph, cluster);
}

// By branch, each on the worker of its place.
Result<std::vector<double>> branch_seconds(const Graph& graph, const plan::ClusterProfile& cluster,
                                           const std::vector<int>& workers) {
  const std::optional<plan::Branches> branches = plan::find_branches(graph);
  if (!branches || branches->ends.size() != workers.size()) {
    return Status(Code::kUnsupported, "the network begins with branches of its own");
  }
  std::vector<double> seconds;
  for (size_t i = 0; i < workers.size(); ++i) {
    std::vector<plan::Piece> ends;
    for (ValueId id : branches->ends[i]) ends.push_back({id, Region::whole(graph[id].type.shape)});
    SHOAL_ASSIGN(const plan::Part part, plan::make_part(graph, {0, branches->join}, ends));
    const auto worker = static_cast<size_t>(workers[i]);
    seconds.push_back(plan::seconds_of(graph, part, cluster.workers[worker]));
  }
  return seconds;
}

Status too_large(const std::string& what) {
  return Status(Code::kExhausted, "no worker has the memory for " + what);
}

constexpr double kNarrowest = -90;  // percent, as make_branches() takes it
constexpr double kStep = 2;         // percent: a channel of 50

class Search {
 public:
  Search(const Graph& graph, const plan::ClusterProfile& cluster, double seconds,
         const plan::WireOptions& wire)
      : graph_(graph), cluster_(cluster), seconds_(seconds), wire_(wire) {}

  Result<std::optional<Widest>> run() {
    const size_t workers = plan::count_present(cluster_);
    for (size_t branches = 2; branches <= std::min(workers, kMostBranches); ++branches) {
      SHOAL_TRY(try_widths(equal_widths(branches)));
    }
    if (workers >= 2 && !are_alike()) {
      if (const auto uneven = widths_for(graph_, cluster_, 0); uneven.ok()) {
        SHOAL_TRY(try_widths(*uneven));
      }
    }
    if (best_) SHOAL_TRY(try_widths(best_->branches.widths, leaving_no_pause(*best_)));
    return std::move(best_);
  }

 private:
  bool are_alike() const {
    const plan::Part whole = plan::whole_part(graph_);
    std::vector<double> seconds;
    for (const plan::WorkerProfile& worker : cluster_.workers) {
      if (worker.present) seconds.push_back(plan::seconds_of(graph_, whole, worker));
    }
    return std::ranges::adjacent_find(seconds, std::ranges::not_equal_to()) == seconds.end();
  }

  // The widest of these that are fast enough, by bisection.
  Status try_widths(std::vector<double> widths, std::vector<double> factors = {}) {
    const BranchOptions options{
        .widths = std::move(widths), .merge = Merge::kConcat, .factors = std::move(factors)};
    double low = kNarrowest, high = 100 * (static_cast<double>(options.widths.size()) - 1);
    SHOAL_ASSIGN(const bool possible, is_in_time(options, low));
    if (!possible) return {};
    while (high - low > kStep) {
      const double middle = std::round((low + high) / 2);
      SHOAL_ASSIGN(const bool in_time, is_in_time(options, middle));
      (in_time ? low : high) = middle;
    }
    return {};
  }

  Result<bool> is_in_time(BranchOptions options, double fatten) {
    options.fatten = fatten;
    SHOAL_ASSIGN(const Branched branched, make_branches(graph_, options));
    auto planned = plan_of(branched.graph, cluster_, wire_);
    // Branches that are so narrow that some of them are one.
    if (!planned.ok() && planned.status().code() == Code::kInvalidArgument) return false;
    SHOAL_TRY(planned.status());
    if (!*planned || (*planned)->timeline.seconds > seconds_) return false;
    const int64_t work = total_macs(branched.graph);
    if (!best_ || work > best_->macs) {
      best_ = Widest{std::move(options), {}, work, **std::move(planned)};
    }
    return true;
  }

  // Factors with which all branches end when the last one does. Work grows by their square.
  static std::vector<double> leaving_no_pause(const Widest& widest) {
    const std::vector<plan::Span>& tasks = widest.made.timeline.tasks[0];
    if (tasks.size() != widest.branches.widths.size()) return {};
    double last = 0;
    for (const plan::Span& task : tasks) last = std::max(last, task.end);
    std::vector<double> factors;
    for (const plan::Span& task : tasks) {
      const double taken = std::max(task.end - task.begin, 1e-12);
      factors.push_back(std::sqrt((last - task.begin) / taken));
    }
    // The widest first: workers get their images in the order of their branches' work.
    std::ranges::sort(factors, std::ranges::greater());
    return factors;
  }

  const Graph& graph_;
  const plan::ClusterProfile& cluster_;
  const double seconds_;
  const plan::WireOptions& wire_;
  std::optional<Widest> best_;
};

}  // namespace

Result<size_t> fewest_branches(const Graph& graph, const plan::ClusterProfile& cluster,
                               double fatten, size_t most) {
  SHOAL_ASSIGN(const Graph optimised, passes::optimize(graph));
  for (int worker : workers_in(cluster)) {
    SHOAL_ASSIGN(const plan::Prediction prediction, plan::plan_for_one(optimised, cluster, worker));
    if (plan::fits(cluster, prediction)) return size_t{1};
  }
  for (size_t branches = 2; branches <= std::min(most, kMostBranches); branches *= 2) {
    const BranchOptions options{.widths = equal_widths(branches), .fatten = fatten};
    SHOAL_ASSIGN(const auto result, planned(graph, options, cluster));
    if (result) return branches;
  }
  return too_large("one of " + std::to_string(most) + " branches");
}

Result<std::vector<double>> widths_for(const Graph& graph, const plan::ClusterProfile& cluster,
                                       double fatten) {
  SHOAL_ASSIGN(const Graph optimised, passes::optimize(graph));
  const plan::Part whole = plan::whole_part(optimised);
  const std::vector<int> workers = workers_in(cluster);
  std::vector<double> widths;
  for (int w : workers) {
    const auto& worker = cluster.workers[static_cast<size_t>(w)];
    widths.push_back(1 / std::sqrt(plan::seconds_of(optimised, whole, worker)));
  }
  if (widths.size() < 2) return invalid("branches need two workers");
  std::vector<double> best = widths;
  double soonest = std::numeric_limits<double>::infinity();
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    const BranchOptions options{.widths = widths, .fatten = fatten, .merge = Merge::kConcat};
    SHOAL_ASSIGN(const Branched branched, make_branches(graph, options));
    SHOAL_ASSIGN(const Graph narrow, as_learned(branched.graph));
    SHOAL_ASSIGN(const std::vector<double> seconds, branch_seconds(narrow, cluster, workers));
    const double longest = *std::ranges::max_element(seconds);
    if (longest < soonest) {
      soonest = longest;
      best = widths;
    }
    const double mean =
        std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    for (size_t i = 0; i < widths.size(); ++i) widths[i] *= std::sqrt(mean / seconds[i]);
  }
  return best;
}

Result<std::optional<plan::Prediction>> plan_of(const Graph& branched,
                                                const plan::ClusterProfile& cluster,
                                                const plan::WireOptions& wire) {
  SHOAL_ASSIGN(const Graph optimised, as_learned(branched));
  SHOAL_ASSIGN(std::optional<plan::Prediction> prediction, planned(optimised, cluster));
  if (prediction && wire.smallest != plan::WireFormat::kF32) {
    SHOAL_ASSIGN(prediction, plan::with_narrow_wire(*prediction, cluster, wire));
  }
  return prediction;
}

Result<Comparison> compare(const Graph& graph, const Graph& branched,
                           const plan::ClusterProfile& cluster) {
  SHOAL_ASSIGN(std::optional<plan::Prediction> prediction, plan_of(branched, cluster));
  if (!prediction) return too_large("a branch");
  SHOAL_ASSIGN(const Graph whole, passes::optimize(graph));
  SHOAL_ASSIGN(std::vector<plan::Prediction> ordinary, plan::make_plans(whole, cluster));
  const size_t messages = prediction->schedule().transfers.size();
  return Comparison{*std::move(prediction), std::move(ordinary[0]), messages};
}

Result<std::optional<Widest>> widest_branches(const Graph& graph,
                                              const plan::ClusterProfile& cluster, double seconds,
                                              const plan::WireOptions& wire) {
  return Search(graph, cluster, seconds, wire).run();
}

Result<std::optional<Widest>> balanced_branches(const Graph& graph, std::span<const size_t> order,
                                                const plan::ClusterProfile& cluster, double seconds,
                                                const plan::WireOptions& wire) {
  const std::vector<compress::ResidualBlock> blocks = compress::residual_blocks(graph);
  const auto all = static_cast<double>(total_macs(graph));
  double depth = 1, width = 1;  // of the last network that was looked at, as shares of the whole
  const auto without = [&](size_t gone) -> Result<std::optional<Widest>> {
    SHOAL_ASSIGN(const Graph left, compress::without_blocks(graph, blocks, order.first(gone)));
    SHOAL_ASSIGN(std::optional<Widest> widest, widest_branches(left, cluster, seconds, wire));
    const auto macs = static_cast<double>(total_macs(left));
    depth = macs / all;
    width = 0;
    if (!widest) return widest;
    width = static_cast<double>(widest->macs) /
            static_cast<double>(widest->branches.widths.size()) / macs;
    widest->blocks.assign(order.begin(), order.begin() + static_cast<ptrdiff_t>(gone));
    return widest;
  };
  // Depth falls and width rises with the number of blocks that go.
  size_t low = 0, high = order.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    SHOAL_TRY(without(middle).status());
    if (depth <= width) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return without(low);
}

}  // namespace shoal::branch
