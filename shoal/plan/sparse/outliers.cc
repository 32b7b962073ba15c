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
                           const ClusterWorkers& workers) {
  std::vector<Part> parts(workers.speeds.size());
  for (size_t part : row_parts) parts[part].seconds += workers.seconds_per_value;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const size_t p = i % parts.size();
    parts[p].seconds += workers.seconds_per_value + counts[i] / workers.speeds[p];
    parts[p].units.push_back({.column = i / parts.size(), .work = counts[i]});
  }
  for (Part& part : parts) {
    std::stable_sort(part.units.begin(), part.units.end(),
                     [](const Unit& a, const Unit& b) { return a.work > b.work; });
  }
  return parts;
}

// The slowest part with a unit in a column that another part needs, too; null if there is none.
Part* slowest_with_unit(std::vector<Part>& parts, std::span<const size_t> users) {
  Part* slowest = nullptr;
  for (Part& part : parts) {
    while (!part.units.empty() && users[part.units.back().column] == 1) part.units.pop_back();
    if (part.units.empty()) continue;
    if (slowest == nullptr || part.seconds > slowest->seconds) slowest = &part;
  }
  return slowest;
}

double longest_seconds(const std::vector<Part>& parts) {
  double longest = 0;
  for (const Part& part : parts) longest = std::max(longest, part.seconds);
  return longest;
}

}  // namespace

std::vector<OutlierUnit> take_units_for_hub(std::span<uint32_t> counts,
                                            std::span<const size_t> row_parts,
                                            const ClusterWorkers& workers) {
  std::vector<OutlierUnit> taken;
  if (workers.hub_speed == 0) return taken;
  std::vector<Part> parts = parts_of(counts, row_parts, workers);
  std::vector<size_t> users(counts.size() / parts.size(), 0);  // parts that need each column
  for (size_t i = 0; i < counts.size(); ++i) users[i / parts.size()] += counts[i] > 0 ? 1 : 0;
  double hub_seconds = 0;
  while (Part* slowest = slowest_with_unit(parts, users)) {
    const Unit unit = slowest->units.back();
    hub_seconds += unit.work / workers.hub_speed;
    if (hub_seconds > longest_seconds(parts)) break;
    const auto p = static_cast<size_t>(slowest - parts.data());
    slowest->units.pop_back();
    slowest->seconds -= unit.work / workers.speeds[p] + workers.seconds_per_value;
    --users[unit.column];
    counts[unit.column * parts.size() + p] = 0;
    taken.push_back({.part = p, .line = unit.column});
  }
  std::sort(taken.begin(), taken.end(), [](const OutlierUnit& a, const OutlierUnit& b) {
    return std::tie(a.part, a.line) < std::tie(b.part, b.line);
  });
  return taken;
}

}  // namespace shoal::plan
