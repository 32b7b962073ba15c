// LatencyTable: how long a network takes on a device, as a function of how many units are left of
// each of its groups (shrink/compress/units/groups.h). It is a sum over steps, each with a time for
// the widths of what it reads and computes; steps that are alike share their times.
//
//   SHOAL_ASSIGN(const LatencyTable table, tabulate(graph, groups, timer));   // tabulate.h
//   const double ms = table.ms(kept);
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/latency/width_surface.h"

namespace shoal::shrink {

// How many units are left of each group, in the order of Groups::groups.
using Kept = std::vector<size_t>;

// All that there are.
Kept all_kept(const compress::Groups& groups);
// What is left without these units, by their numbers.
Kept kept_without(const compress::Groups& groups, std::span<const size_t> units);

// The size of an axis: what stays in any case, and what each unit that is left adds.
struct Extent {
  int64_t fixed = 0;
  std::vector<std::pair<size_t, int64_t>> per_unit = {};  // by group, ascending; none is zero

  int64_t at(std::span<const size_t> kept) const;
  friend bool operator==(const Extent&, const Extent&) = default;
};

// The axes of a value that groups can make smaller, in order.
std::vector<Extent> extents_of(const Graph& graph, const compress::Groups& groups, ValueId value);

// What a device does for one value of the network.
struct TimedStep {
  std::string value;            // by name
  std::vector<Extent> extents;  // the widths that its time depends on: at most two
  size_t surface = 0;           // of LatencyTable::surfaces

  Widths widths(std::span<const size_t> kept) const;
};

// A value. Any threads may call const functions at once.
struct LatencyTable {
  std::vector<TimedStep> steps;
  std::vector<WidthSurface> surfaces;
  double outside_ms = 0;  // of a run, spent in no step
  // What all times are multiplied by: 1, or what makes the time of the whole network that which was
  // measured of it alone. Steps are timed by tracing, on a machine that may be busy at first.
  double scale = 1;
  // Where a sum over steps is far from the truth, as that of a plan for several devices may be: the
  // milliseconds of the network without these units, which take less long to ask for than to
  // measure. Empty: nothing knows better than the table.
  std::function<Result<double>(std::span<const size_t> units)> exact_ms = {};

  // The milliseconds of a run. REQUIRES: as many numbers as there are groups, and so it is below.
  double ms(std::span<const size_t> kept) const;
  // Of some steps.
  double ms(std::span<const size_t> kept, std::span<const size_t> of) const;
  // The steps whose time a group can change.
  std::vector<size_t> steps_of(size_t group) const;
};

}  // namespace shoal::shrink
