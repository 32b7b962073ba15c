#include "shoal/plan/sparse/outliers.h"

#include <algorithm>
#include <tuple>

namespace shoal::plan {
namespace {

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

}  // namespace

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

}  // namespace shoal::plan
