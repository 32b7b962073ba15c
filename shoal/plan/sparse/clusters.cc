#include "shoal/plan/sparse/clusters.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "shoal/plan/sparse/refine.h"

namespace shoal::plan {
namespace {

// Fine-grain cross partition [Mao 2017a]: which outliers the hub computes. A unit is what one part
// has in one column of another part. The hub has the input and takes the output in any case, so a
// unit that it computes saves one value. With time[p] = work / speed + values * seconds per value:
//
//   p = the slowest part with a unit left,  u = its unit with fewest non-zeros
//   u goes to the hub, unless that made the hub finish after the slowest part
//
// If the first worker is the hub, its time is that of its own work alone at the beginning, and it
// has no units to give.
struct Unit {
  size_t column = 0;
  uint32_t work = 0;
};

struct Part {
  std::vector<Unit> units;  // fewest non-zeros last
  double seconds = 0;
};

std::vector<Part> parts_of(std::span<const uint32_t> counts, std::span<const size_t> row_parts,
                           std::span<const size_t> column_parts, const ClusterWorkers& workers) {
  std::vector<Part> parts(workers.speeds.size());
  const auto seconds_per_value = [&](size_t p) {
    return workers.first_is_hub && p == 0 ? 0 : workers.seconds_per_value;
  };
  for (size_t part : row_parts) parts[part].seconds += seconds_per_value(part);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const size_t p = i % parts.size();
    const size_t column = i / parts.size();
    parts[p].seconds += seconds_per_value(p) + counts[i] / workers.speeds[p];
    const bool stays = workers.first_is_hub && p == 0;
    if (column_parts[column] != p && !stays)
      parts[p].units.push_back({.column = column, .work = counts[i]});
  }
  for (Part& part : parts) {
    std::stable_sort(part.units.begin(), part.units.end(),
                     [](const Unit& a, const Unit& b) { return a.work > b.work; });
  }
  return parts;
}

// `counts` are those of column_counts(). Sorted by part and column.
std::vector<OutlierUnit> units_for_hub(std::span<const uint32_t> counts,
                                       std::span<const size_t> row_parts,
                                       std::span<const size_t> column_parts,
                                       const ClusterWorkers& workers) {
  std::vector<OutlierUnit> taken;
  const double hub_speed = workers.first_is_hub ? workers.speeds[0] : workers.hub_speed;
  if (hub_speed == 0) return taken;
  std::vector<Part> parts = parts_of(counts, row_parts, column_parts, workers);
  double hub_seconds = workers.first_is_hub ? parts[0].seconds : 0;
  while (true) {
    double longest = 0;
    Part* slowest = nullptr;  // of those with a unit
    for (Part& part : parts) {
      longest = std::max(longest, part.seconds);
      if (part.units.empty()) continue;
      if (slowest == nullptr || part.seconds > slowest->seconds) slowest = &part;
    }
    if (slowest == nullptr) break;
    const Unit unit = slowest->units.back();
    hub_seconds += unit.work / hub_speed;
    if (hub_seconds > longest) break;
    const auto p = static_cast<size_t>(slowest - parts.data());
    slowest->units.pop_back();
    slowest->seconds -= unit.work / workers.speeds[p] + workers.seconds_per_value;
    taken.push_back({.part = p, .line = unit.column});
  }
  std::sort(taken.begin(), taken.end(), [](const OutlierUnit& a, const OutlierUnit& b) {
    return std::tie(a.part, a.line) < std::tie(b.part, b.line);
  });
  return taken;
}

constexpr double kSlack = 1.05;       // a part's work by its share, at most, where rows allow it
constexpr size_t kGroupsPerPart = 4;  // where the data has more groups than there are workers
constexpr size_t kMostDimensions = 15;
constexpr uint64_t kStarts = 2;

Status check(const ClusterWorkers& workers) {
  const auto valid = [](double x) { return std::isfinite(x) && x >= 0; };
  if (workers.speeds.empty()) return invalid("clusters need a worker");
  for (double speed : workers.speeds) {
    if (!valid(speed) || speed == 0) return invalid("a worker's speed is not positive");
  }
  if (!valid(workers.hub_speed)) return invalid("the hub's speed is negative");
  if (!valid(workers.seconds_per_value)) return invalid("seconds of a value are negative");
  return {};
}

// The non-zeros of each part.
std::vector<double> shares_of(const SparsePattern& pattern, std::span<const double> speeds) {
  const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<double> shares;
  for (double speed : speeds) {
    shares.push_back(static_cast<double>(pattern.targets.size()) * (speed / sum));
  }
  return shares;
}

std::vector<double> limits_of(std::span<const double> shares) {
  std::vector<double> limits;
  for (double share : shares) limits.push_back(kSlack * share);
  return limits;
}

// Fills parts group by group, the largest first, each time the part with most of its share left.
std::vector<size_t> packed(std::span<const size_t> groups, std::span<const double> weights,
                           std::span<const double> shares) {
  std::vector<double> sizes(kGroupsPerPart * shares.size(), 0);
  for (size_t r = 0; r < groups.size(); ++r) sizes[groups[r]] += weights[r];
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const double larger = sizes[groups[a]];
    const double smaller = sizes[groups[b]];
    return larger != smaller ? larger > smaller : groups[a] < groups[b];
  });
  std::vector<size_t> parts(groups.size());
  std::vector<double> left(shares.begin(), shares.end());
  size_t part = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t row = order[i];
    const bool next_group = i == 0 || groups[row] != groups[order[i - 1]];
    if (next_group || left[part] < weights[row]) {
      part = static_cast<size_t>(std::max_element(left.begin(), left.end()) - left.begin());
    }
    parts[row] = part;
    left[part] -= weights[row];
  }
  return parts;
}

// The part of each column: the one with most non-zeros in it, by its non-zeros in all. Otherwise a
// part with slightly more work than others has most columns of a random pattern, and no outliers
// that the hub could take.
std::vector<size_t> owners(std::span<const uint32_t> counts, size_t parts) {
  std::vector<double> work(parts, 0);
  for (size_t i = 0; i < counts.size(); ++i) work[i % parts] += counts[i];
  std::vector<size_t> owners;
  for (size_t begin = 0; begin < counts.size(); begin += parts) {
    double most = 0;
    owners.push_back(0);
    for (size_t p = 0; p < parts; ++p) {
      const uint32_t count = counts[begin + p];
      if (count == 0 || count / work[p] <= most) continue;
      most = count / work[p];
      owners.back() = p;
    }
  }
  return owners;
}

Clusters clusters_of(const SparsePattern& pattern, std::vector<size_t> row_parts,
                     const ClusterWorkers& workers) {
  const size_t parts = workers.speeds.size();
  const auto counts = column_counts(pattern, row_parts, parts);
  auto column_parts = owners(counts, parts);
  auto on_hub = units_for_hub(counts, row_parts, column_parts, workers);
  return {.row_parts = std::move(row_parts),
          .column_parts = std::move(column_parts),
          .on_hub = std::move(on_hub)};
}

// Partitions of the rows to begin with.
Result<std::vector<std::vector<size_t>>> starts(const SparsePattern& pattern,
                                                std::span<const double> shares,
                                                RandomStream random) {
  std::vector<double> weights;
  for (size_t r = 0; r < pattern.rows.size(); ++r) {
    weights.push_back(static_cast<double>(pattern.row(r).size()));
  }
  const size_t groups = kGroupsPerPart * shares.size();
  const size_t dimensions = std::min(groups - 1, kMostDimensions);
  SHOAL_ASSIGN(const Matrix points, row_embedding(pattern, dimensions, random.child(0)));
  const Matrix few =
      first_columns(points, std::min(dimensions, std::max<size_t>(shares.size() - 1, 1)));
  std::vector<std::vector<size_t>> result;
  for (uint64_t i = 0; i < kStarts; ++i) {
    result.push_back(balanced_k_means(few, weights, limits_of(shares), random.child(1 + i)));
    const std::vector<double> no_limits(groups, kNoLimit);
    const auto grouped = balanced_k_means(points, weights, no_limits, random.child(1 + i));
    result.push_back(packed(grouped, weights, shares));
  }
  return result;
}

Result<Clusters> clusters_by_rows(const SparsePattern& pattern, const ClusterWorkers& workers,
                                  uint64_t seed) {
  const RandomStream random(seed, 0);
  const auto shares = shares_of(pattern, workers.speeds);
  const auto limits = limits_of(shares);
  SHOAL_ASSIGN(const auto candidates, starts(pattern, shares, random));
  std::optional<Clusters> best;
  std::pair<size_t, size_t> fewest;  // values, and then the hub's work
  const auto compete = [&](std::vector<size_t> row_parts) {
    Clusters clusters = clusters_of(pattern, std::move(row_parts), workers);
    const ClusterTraffic traffic = traffic_of(pattern, clusters, workers);
    const std::pair cost(traffic.values, traffic.hub_work);
    if (best && fewest <= cost) return;
    fewest = cost;
    best = std::move(clusters);
  };
  for (const auto& start : candidates) {
    compete(start);
    compete(refined(pattern, start, limits, random.child(0)));
  }
  return *std::move(best);
}

// The same clusters for the transposed pattern.
Clusters transposed(Clusters clusters) {
  const bool inputs = clusters.travelling == Travelling::kInputs;
  clusters.travelling = inputs ? Travelling::kSums : Travelling::kInputs;
  std::swap(clusters.row_parts, clusters.column_parts);
  return clusters;
}

}  // namespace

Result<Clusters> make_clusters(const SparsePattern& pattern, const ClusterWorkers& workers,
                               uint64_t seed) {
  SHOAL_TRY(check(workers));
  if (pattern.rows.empty()) return Clusters{};
  if (pattern.columns.size() <= pattern.rows.size()) {
    return clusters_by_rows(pattern, workers, seed);
  }
  SHOAL_ASSIGN(Clusters clusters, clusters_by_rows(transposed(pattern), workers, seed));
  return transposed(std::move(clusters));
}

ClusterTraffic traffic_of(const SparsePattern& pattern, const Clusters& clusters,
                          const ClusterWorkers& workers) {
  if (clusters.travelling == Travelling::kSums) {
    return traffic_of(transposed(pattern), transposed(clusters), workers);
  }
  const size_t parts = workers.speeds.size();
  const auto [shorter, longer] = std::minmax(pattern.all_rows, pattern.all_columns);
  ClusterTraffic traffic{.dense = longer + parts * shorter,
                         .least = pattern.rows.size() + pattern.columns.size(),
                         .work = std::vector<size_t>(parts, 0)};
  if (workers.first_is_hub) {
    const double all = std::accumulate(workers.speeds.begin(), workers.speeds.end(), 0.0);
    const double stays = static_cast<double>(longer) * workers.speeds[0] / all;
    traffic.dense -= static_cast<size_t>(std::llround(stays)) + shorter;
    for (const auto* lines : {&clusters.row_parts, &clusters.column_parts}) {
      traffic.least -= static_cast<size_t>(std::count(lines->begin(), lines->end(), size_t{0}));
    }
  }
  traffic.values = traffic.least;
  auto counts = column_counts(pattern, clusters.row_parts, parts);
  for (const OutlierUnit& unit : clusters.on_hub) {
    traffic.hub_work += std::exchange(counts[unit.line * parts + unit.part], 0U);
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    traffic.work[i % parts] += counts[i];
    const bool stays = workers.first_is_hub && i % parts == 0;
    if (counts[i] > 0 && !stays && clusters.column_parts[i / parts] != i % parts) ++traffic.values;
  }
  if (workers.first_is_hub) traffic.work[0] += traffic.hub_work;
  return traffic;
}

ClusterTraffic traffic_of(const SparsePattern& pattern, const Clusters& clusters, size_t parts) {
  return traffic_of(pattern, clusters, {.speeds = std::vector<double>(parts, 1)});
}

double imbalance(const ClusterTraffic& traffic, std::span<const double> speeds) {
  double longest = 0;
  double work = 0;
  for (size_t p = 0; p < speeds.size(); ++p) {
    longest = std::max(longest, static_cast<double>(traffic.work[p]) / speeds[p]);
    work += static_cast<double>(traffic.work[p]);
  }
  const double even = work / std::accumulate(speeds.begin(), speeds.end(), 0.0);
  return even == 0 ? 1 : longest / even;
}

}  // namespace shoal::plan
