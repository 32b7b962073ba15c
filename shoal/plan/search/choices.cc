// The layouts that the search tries. All 2^n groups of n workers would be too many, so up to four
// workers get every subset, and larger clusters the k ablest and the k best connected for about 2
// log2(n) values of k. Equal workers are interchangeable and appear in one order only. Shares are
// proportional to ability: the inverse of the time for the whole graph alone.
#include "shoal/plan/search/choices.h"

#include <algorithm>
#include <functional>

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

}  // namespace shoal::plan
