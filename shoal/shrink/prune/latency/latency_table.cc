#include "shoal/shrink/prune/latency/latency_table.h"

#include <algorithm>
#include <map>

namespace shoal::shrink {

Kept all_kept(const compress::Groups& groups) {
  Kept kept;
  for (const compress::Group& group : groups.groups) kept.push_back(group.size());
  return kept;
}

Kept kept_without(const compress::Groups& groups, std::span<const size_t> units) {
  Kept kept = all_kept(groups);
  for (size_t unit : units) {
    const auto group = std::ranges::upper_bound(groups.groups, unit, {}, &compress::Group::end);
    --kept[static_cast<size_t>(group - groups.groups.begin())];
  }
  return kept;
}

int64_t Extent::at(std::span<const size_t> kept) const {
  int64_t size = fixed;
  for (const auto& [group, each] : per_unit) size += each * static_cast<int64_t>(kept[group]);
  return size;
}

// Units of a group have equally many indices of the same axes, so the first stands for all.
std::vector<Extent> extents_of(const Graph& graph, const compress::Groups& groups, ValueId value) {
  std::map<size_t, Extent> axes;
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    const compress::Group& group = groups.groups[g];
    std::map<size_t, int64_t> cells;
    for (const compress::Cell& cell : groups.units[group.begin].cells) {
      if (cell.value == value) ++cells[cell.axis];
    }
    for (const auto& [axis, count] : cells) {
      Extent& extent = axes.try_emplace(axis, Extent{graph[value].type.shape[axis]}).first->second;
      extent.fixed -= count * static_cast<int64_t>(group.size());
      extent.per_unit.emplace_back(g, count);
    }
  }
  std::vector<Extent> all;
  for (auto& [axis, extent] : axes) all.push_back(std::move(extent));
  return all;
}

Widths TimedStep::widths(std::span<const size_t> kept) const {
  Widths widths = {};
  for (size_t i = 0; i < extents.size(); ++i) widths[i] = extents[i].at(kept);
  return widths;
}

double LatencyTable::ms(std::span<const size_t> kept) const {
  double sum = outside_ms;
  for (const TimedStep& step : steps) sum += surfaces[step.surface].at(step.widths(kept));
  return scale * sum;
}

double LatencyTable::ms(std::span<const size_t> kept, std::span<const size_t> of) const {
  double sum = 0;
  for (size_t i : of) sum += surfaces[steps[i].surface].at(steps[i].widths(kept));
  return scale * sum;
}

std::vector<size_t> LatencyTable::steps_of(size_t group) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool reads = std::ranges::any_of(steps[i].extents, [&](const Extent& extent) {
      return std::ranges::find(extent.per_unit, group, [](const auto& part) {
               return part.first;
             }) != extent.per_unit.end();
    });
    if (reads) found.push_back(i);
  }
  return found;
}

}  // namespace shoal::shrink
