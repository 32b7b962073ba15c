#include "shoal/shrink/branches/widest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shoal/shrink/branches/compare.h"
#include "shoal/shrink/compress/units/residual_blocks.h"

namespace shoal::branch {
namespace {

constexpr double kNarrowest = -90;  // percent, as make_branches() takes it
constexpr double kStep = 2;         // percent: a channel of 50

int64_t macs_of(const Graph& graph) {
  int64_t all = 0;
  for (const Node& node : graph.nodes()) all += macs(graph, node);
  return all;
}

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
  // Whether all workers are as fast as each other.
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

  // Whether they are fast enough; keeps them if they are the best so far.
  Result<bool> is_in_time(BranchOptions options, double fatten) {
    options.fatten = fatten;
    SHOAL_ASSIGN(const Branched made, make_branches(graph_, options));
    auto planned = plan_of(made.graph, cluster_, wire_);
    // Branches that are so narrow that some of them are one.
    if (!planned.ok() && planned.status().code() == Code::kInvalidArgument) return false;
    SHOAL_TRY(planned.status());
    if (!*planned || (*planned)->timeline.seconds > seconds_) return false;
    const int64_t work = macs_of(made.graph);
    if (!best_ || work > best_->macs) {
      best_ = Widest{std::move(options), {}, work, **std::move(planned)};
    }
    return true;
  }

  // Factors with which all branches end when the last one does. Work grows by their square.
  static std::vector<double> leaving_no_pause(const Widest& made) {
    const std::vector<plan::Span>& tasks = made.made.timeline.tasks[0];
    if (tasks.size() != made.branches.widths.size()) return {};
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

Result<std::optional<Widest>> widest_branches(const Graph& graph,
                                              const plan::ClusterProfile& cluster, double seconds,
                                              const plan::WireOptions& wire) {
  return Search(graph, cluster, seconds, wire).run();
}

Result<std::optional<Widest>> balanced_branches(const Graph& graph, std::span<const size_t> order,
                                                const plan::ClusterProfile& cluster, double seconds,
                                                const plan::WireOptions& wire) {
  const std::vector<compress::ResidualBlock> blocks = compress::residual_blocks(graph);
  const auto all = static_cast<double>(macs_of(graph));
  double depth = 1, width = 1;  // of the last network that was looked at, as shares of the whole
  const auto without = [&](size_t gone) -> Result<std::optional<Widest>> {
    SHOAL_ASSIGN(const Graph left, compress::without_blocks(graph, blocks, order.first(gone)));
    SHOAL_ASSIGN(std::optional<Widest> made, widest_branches(left, cluster, seconds, wire));
    const auto macs = static_cast<double>(macs_of(left));
    depth = macs / all;
    width = 0;
    if (!made) return made;
    width =
        static_cast<double>(made->macs) / static_cast<double>(made->branches.widths.size()) / macs;
    made->blocks.assign(order.begin(), order.begin() + static_cast<ptrdiff_t>(gone));
    return made;
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
