// LatencyTable: a network's time on a device as a function of the number of units left of each
// group (shrink/compress/units/groups.h). A sum over steps, each with a time for its widths; equal
// steps share their times.
//
//   SHOAL_ASSIGN(const LatencyTable table, tabulate(graph, groups, timer));   // tabulate.h
//   const double ms = table.ms(kept);
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"

namespace shoal::shrink {

// WidthSurface: milliseconds as a function of one or two widths, piecewise linear. Channels come in
// blocks, so times rise in stairs, with knots at both ends of a step.

// The widths of a step. The second is 0 if only one matters.
using Widths = std::array<int64_t, 2>;

// One measurement.
struct WidthSample {
  Widths widths = {};
  double ms = 0;
};

// The knots between two widths, inclusive and ascending: the narrowest one by one, because their
// kernels differ, then the first, the middle and the last channel of each block. Above kMostKnots,
// blocks are joined in pairs, because single steps are lost in noise. REQUIRES: 0 <= least <= most,
// and block >= 1.
std::vector<int64_t> stair_knots(int64_t least, int64_t most, int64_t block);

inline constexpr size_t kMostKnots = 24;

// A value.
class WidthSurface {
 public:
  WidthSurface() = default;  // no time at all
  // The surface nearest to the samples, extrapolated if there are none, and robust to a few
  // disturbed samples. `block`: channels that the device computes at once; 1: no stairs. REQUIRES:
  // there are samples, and block >= 1.
  static WidthSurface fit(std::span<const WidthSample> samples, int64_t block);

  // Never below zero. Constant beyond the outermost samples.
  double at(const Widths& widths) const;

 private:
  // The knots around a point, and their weights.
  struct Corners {
    std::array<size_t, 4> knots = {};
    std::array<double, 4> shares = {};
  };

  Corners corners_of(const Widths& widths) const;
  // Starts from the current surface.
  void solve(std::span<const WidthSample> samples, const std::vector<double>& weights);
  std::vector<double> times_matrix(std::span<const Corners> corners,
                                   const std::vector<double>& values) const;

  int64_t block_ = 1;
  std::array<std::vector<int64_t>, 2> knots_ = {{{0}, {0}}};
  std::vector<double> ms_ = {0};  // [knots_[0], knots_[1]]
};

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
  // A factor on all times: 1, or what makes the whole network's time equal to the one measured
  // alone. Steps are timed by tracing, on a machine that may be busy at first.
  double scale = 1;
  // The exact milliseconds without these units, if a sum over steps is far off, as for a plan on
  // several devices, and asking is quicker than measuring. Empty: use the table.
  std::function<Result<double>(std::span<const size_t> units)> exact_ms = {};

  // The milliseconds of a run. REQUIRES: one number per group, here and below.
  double ms(std::span<const size_t> kept) const;
  // Of some steps.
  double ms(std::span<const size_t> kept, std::span<const size_t> of) const;
  // The steps whose time a group can change.
  std::vector<size_t> steps_of(size_t group) const;
};

}  // namespace shoal::shrink
