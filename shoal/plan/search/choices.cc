// The layouts that the search tries. All 2^n groups of n workers would be too many, so up to four
// workers get every subset, and larger clusters the k ablest and the k best connected for about 2
// log2(n) values of k. Equal workers are interchangeable and appear in one order only. Shares are
// proportional to ability: the inverse of the time for the whole graph alone.
#include "shoal/plan/search/choices.h"

#include <algorithm>
#include <functional>
#include <set>

#include "shoal/plan/cost/plan_stats.h"

namespace shoal::plan {
namespace {

constexpr size_t kFew = 4;       // workers, so that all subsets can be tried
constexpr size_t kMostOnes = 8;  // workers to be tried alone
constexpr size_t kMostTerms = 8;

}  // namespace

std::vector<size_t> group_sizes(size_t most) {
  std::vector<size_t> sizes;
  for (size_t n = 2; n < most; n = n < 4 ? n + 1 : n % 3 == 0 ? n / 3 * 4 : n / 2 * 3) {
    sizes.push_back(n);
  }
  if (most > 1) sizes.push_back(most);
  return sizes;
}

Choices::Choices(const Graph& graph, const ClusterProfile& cluster,
                 const std::vector<int>& excluded)
    : cluster_(cluster) {
  const Part whole = whole_part(graph);
  bytes_ = weight_bytes(graph, whole) + activation_bytes(graph, whole);
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    const double seconds = seconds_of(graph, whole, cluster.workers[w]);
    // A graph of nothing but copies takes no time.
    abilities_.push_back(1 / std::max(seconds, 1e-12));
    const int worker = static_cast<int>(w);
    const bool is_excluded = std::ranges::find(excluded, worker) != excluded.end();
    if (!is_excluded && cluster.workers[w].present) workers_.push_back(worker);
  }
  std::ranges::stable_sort(workers_, std::greater(), [&](int w) { return ability(w); });
  by_link_ = workers_;
  std::ranges::stable_sort(by_link_, std::greater(),
                           [&](int w) { return cluster.link_of(w).bytes_per_second; });
}

bool Choices::alike(int a, int b) const {
  return ability(a) == ability(b) && cluster_.link_of(a) == cluster_.link_of(b) &&
         cluster_.workers[static_cast<size_t>(a)].memory_bytes ==
             cluster_.workers[static_cast<size_t>(b)].memory_bytes;
}

std::vector<Layout> Choices::ones() const {
  std::vector<Layout> layouts;
  for (int worker : workers_) {
    const bool is_new = std::ranges::none_of(
        layouts, [&](const Layout& layout) { return alike(layout.workers[0], worker); });
    const bool is_short = cluster_.workers[static_cast<size_t>(worker)].memory_bytes < bytes_;
    if ((is_new || is_short) && layouts.size() < kMostOnes) {
      layouts.push_back({Cut::kNone, {worker}, {1}, 1});
    }
  }
  return layouts;
}

Layout Choices::by_value(Cut cut, bool over_all) const {
  const size_t count = over_all ? workers_.size() : std::min(workers_.size(), kMostTerms);
  return make(cut, Group(workers_.begin(), workers_.begin() + static_cast<long>(count)), 1);
}

std::vector<Layout> Choices::of(Cut cut, bool over_all) const {
  if (cut == Cut::kInputs || cut == Cut::kClusters) return {by_value(cut, over_all)};
  const bool few = !over_all && workers_.size() <= kFew && cut != Cut::kGrid;
  if (!few) return over(cut, groups(over_all));
  std::vector<Layout> layouts;
  for (Layout& layout : over(cut, groups(over_all))) {
    layouts.push_back(layout);
    layouts.push_back(skewed(std::move(layout)));
  }
  return layouts;
}

std::vector<Layout> Choices::over(Cut cut, const std::vector<Group>& groups) const {
  std::vector<Layout> layouts;
  for (const Group& group : groups) {
    if (cut != Cut::kGrid) {
      layouts.push_back(make(cut, group, 1));
      continue;
    }
    // Nearly square, because longer borders mean more halo. Rows lie together in memory, so rather
    // more rows than columns.
    for (size_t columns = 2; columns * columns <= group.size(); ++columns) {
      const size_t rows = group.size() / columns;
      if (rows * columns != group.size() || rows > 2 * columns) continue;
      layouts.push_back(make(cut, group, static_cast<int64_t>(rows)));
    }
  }
  return layouts;
}

std::vector<Choices::Group> Choices::groups(bool over_all) const {
  if (over_all) return {workers_};
  if (workers_.size() <= kFew) return subsets();
  std::vector<Group> groups;
  for (const std::vector<int>& ranked : {workers_, by_link_}) {
    for (size_t count : group_sizes(workers_.size())) {
      Group group(ranked.begin(), ranked.begin() + static_cast<long>(count));
      if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
    }
  }
  return groups;
}

// All subsets of two or more workers. Of subsets that differ only in equal workers, the first.
std::vector<Choices::Group> Choices::subsets() const {
  std::vector<Group> groups;
  const auto like = [&](const Group& a, const Group& b) {
    return std::ranges::equal(a, b, [&](int x, int y) { return alike(x, y); });
  };
  for (size_t bits = 1; bits < size_t{1} << workers_.size(); ++bits) {
    Group group;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if ((bits >> i & 1) != 0) group.push_back(workers_[i]);
    }
    const bool is_new =
        std::ranges::none_of(groups, [&](const Group& other) { return like(group, other); });
    if (group.size() > 1 && is_new) groups.push_back(std::move(group));
  }
  return groups;
}

// The same with a larger share for the ablest worker, for links on which sending costs as much as
// computing.
Layout Choices::skewed(Layout layout) {
  constexpr double kMore = 3;
  const double total = 1 + (kMore - 1) * layout.shares[0];
  layout.shares[0] *= kMore;
  for (double& share : layout.shares) share /= total;
  return layout;
}

Layout Choices::make(Cut cut, const Group& group, int64_t grid_rows) const {
  Layout layout{cut, group, {}, grid_rows};
  double total = 0;
  for (int worker : group) total += ability(worker);
  for (int worker : group) layout.shares.push_back(ability(worker) / total);
  return layout;
}

namespace {

// As last_reads, but outputs that no node reads do not prevent a cut.
std::vector<size_t> last_readers(const Graph& graph) {
  std::vector<size_t> last(graph.value_count(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].inputs) {
      if (id != kNoValue) last[static_cast<size_t>(id)] = i + 1;
    }
  }
  return last;
}

bool reads_only_constants(const Graph& graph, const Node& node) {
  return std::ranges::all_of(
      node.inputs, [&](ValueId id) { return id == kNoValue || graph[id].constant.has_value(); });
}

}  // namespace

std::vector<size_t> last_reads(const Graph& graph) {
  std::vector<size_t> last = last_readers(graph);
  for (ValueId id : graph.outputs()) last[static_cast<size_t>(id)] = graph.nodes().size() + 1;
  return last;
}

std::vector<size_t> find_cuts(const Graph& graph, size_t most_live) {
  const std::vector<size_t> last = last_readers(graph);
  std::vector<size_t> cuts = {0};
  std::multiset<size_t> live;  // when the values so far are last read
  // The last reader of a value computed from constants alone. It is part of weights, which do not
  // travel.
  size_t weights_until = 0;
  for (ValueId id : graph.inputs()) live.insert(last[static_cast<size_t>(id)]);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for (ValueId id : node.outputs) {
      const size_t read = last[static_cast<size_t>(id)];
      live.insert(read);
      if (reads_only_constants(graph, node)) weights_until = std::max(weights_until, read);
    }
    live.erase(live.begin(), live.upper_bound(i + 1));
    // Values that are read after node i + 1, which follows the cut.
    const auto beyond_next = std::distance(live.upper_bound(i + 2), live.end());
    const bool few = static_cast<size_t>(beyond_next) <= most_live;
    if ((few && weights_until <= i + 1) || i + 1 == graph.nodes().size()) cuts.push_back(i + 1);
  }
  return cuts;
}

PlanOptions for_workers(PlanOptions options, const std::set<int>& workers,
                        const ClusterProfile& cluster) {
  // A worker may be both outside of the set and excluded by the user; only usable ones can stand
  // in.
  const auto usable = std::ranges::count_if(workers, [&](int worker) {
    return cluster.workers[static_cast<size_t>(worker)].present &&
           std::ranges::find(options.excluded, worker) == options.excluded.end();
  });
  for (int w = 0; w < std::ssize(cluster.workers); ++w) {
    if (!workers.contains(w)) options.excluded.push_back(w);
  }
  options.survive = std::clamp(static_cast<int>(usable) - 1, 0, options.survive);
  return options;
}

Result<Prediction> make_plan_for(const std::set<int>& workers, const Graph& graph,
                                 const ClusterProfile& cluster, const PlanOptions& options) {
  SHOAL_ASSIGN(auto plans, make_plans(graph, cluster, for_workers(options, workers, cluster)));
  return std::move(plans.front());
}

}  // namespace shoal::plan
