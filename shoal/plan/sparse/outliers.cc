#include "shoal/plan/sparse/outliers.h"

#include <algorithm>
#include <tuple>

namespace shoal::plan {
namespace {

struct Unit {
  size_t column = 0;
  double work = 0;
};

struct Part {
  std::vector<Unit> units;  // fewest non-zeros last
  double seconds = 0;
};

std::vector<Part> parts_of(std::span<const size_t> counts, std::span<const size_t> row_parts,
                           std::span<const size_t> column_parts, const ClusterWorkers& workers) {
  std::vector<Part> parts(workers.speeds.size());
  for (size_t part : row_parts) parts[part].seconds += workers.seconds_per_value;
  for (size_t c = 0; c < column_parts.size(); ++c) {
    for (size_t p = 0; p < parts.size(); ++p) {
      const auto work = static_cast<double>(counts[c * parts.size() + p]);
      const bool own = p == column_parts[c];
      if (own || work > 0) parts[p].seconds += workers.seconds_per_value;
      parts[p].seconds += work / workers.speeds[p];
      if (!own && work > 0) parts[p].units.push_back({c, work});
    }
  }
  for (Part& part : parts) {
    std::stable_sort(part.units.begin(), part.units.end(),
                     [](const Unit& a, const Unit& b) { return a.work > b.work; });
  }
  return parts;
}

}  // namespace

std::vector<OutlierUnit> units_for_hub(std::span<const size_t> counts,
                                       std::span<const size_t> row_parts,
                                       std::span<const size_t> column_parts,
                                       const ClusterWorkers& workers) {
  std::vector<OutlierUnit> chosen;
  if (workers.hub_speed == 0) return chosen;
  std::vector<Part> parts = parts_of(counts, row_parts, column_parts, workers);
  double hub_seconds = 0;
  while (true) {
    double longest = 0;
    Part* slowest = nullptr;
    for (Part& part : parts) {
      longest = std::max(longest, part.seconds);
      if (part.units.empty()) continue;
      if (slowest == nullptr || part.seconds > slowest->seconds) slowest = &part;
    }
    if (slowest == nullptr) break;
    const Unit unit = slowest->units.back();
    hub_seconds += unit.work / workers.hub_speed;
    if (hub_seconds > longest) break;
    const auto p = static_cast<size_t>(slowest - parts.data());
    slowest->units.pop_back();
    slowest->seconds -= unit.work / workers.speeds[p] + workers.seconds_per_value;
    chosen.push_back({p, unit.column});
  }
  std::sort(chosen.begin(), chosen.end(), [](const OutlierUnit& a, const OutlierUnit& b) {
    return std::tie(a.part, a.line) < std::tie(b.part, b.line);
  });
  return chosen;
}

}  // namespace shoal::plan
