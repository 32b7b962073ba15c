#include "shoal/shrink/prune/latency/latency_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace shoal::shrink {
namespace {

// A least-squares fit: a sample is a mean of the knots around it, and bends along each axis are
// kept small if there are no samples. Conjugate gradients solve it for a few hundred knots.

constexpr double kSmooth = 1e-3;  // weight of a bend beside a sample
constexpr double kUsual = 0.01;   // distance of a sample, as a share of the mean
constexpr int kRounds = 8;
constexpr int kMostSteps = 400;     // of conjugate gradients
constexpr double kAccurate = 1e-9;  // relative

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// A width and the blocks it takes, averaged: about half of a block's time is due once it is begun.
// Linear within a block; keeps the stairs between distant knots.
double in_blocks(int64_t width, int64_t block) {
  return static_cast<double>(width + (width + block - 1) / block * block) / 2;
}

struct Between {
  size_t below = 0, above = 0;
  double share = 0;
};

Between between(const std::vector<int64_t>& knots, int64_t width, int64_t block) {
  const auto above = std::ranges::lower_bound(knots, width);
  if (above == knots.end()) return {knots.size() - 1, knots.size() - 1, 0};
  const auto at = static_cast<size_t>(above - knots.begin());
  if (at == 0 || *above == width) return {at, at, 0};
  const double below = in_blocks(knots[at - 1], block);
  return {at - 1, at, (in_blocks(width, block) - below) / (in_blocks(*above, block) - below)};
}

// Adds what the bends of a row of values, `stride` apart, contribute to the product with their own
// matrix. A bend is by how much the knot on the nearer side misses the line through the others.
void add_bending(const std::vector<double>& values, size_t begin, size_t stride,
                 const std::vector<int64_t>& knots, std::vector<double>& sum) {
  for (size_t i = 1; i + 1 < knots.size(); ++i) {
    const auto before = static_cast<double>(knots[i] - knots[i - 1]);
    const auto after = static_cast<double>(knots[i + 1] - knots[i]);
    const double near = std::min(before, after);
    const double low = near / before, high = near / after;
    const size_t middle = begin + i * stride;
    const double bend = kSmooth * (low * values[middle - stride] - (low + high) * values[middle] +
                                   high * values[middle + stride]);
    sum[middle - stride] += low * bend;
    sum[middle] -= (low + high) * bend;
    sum[middle + stride] += high * bend;
  }
}

}  // namespace

std::vector<int64_t> stair_knots(int64_t least, int64_t most, int64_t block) {
  for (int64_t apart = block;; apart *= 2) {
    std::vector<int64_t> knots = {least, most};
    for (int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12}) knots.push_back(width);
    for (int64_t end = block; end <= most; end += apart) {
      knots.insert(knots.end(), {end, end + 1, end + apart / 2});
    }
    std::erase_if(knots, [&](int64_t width) { return width < least || width > most; });
    std::ranges::sort(knots);
    knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
    if (knots.size() <= kMostKnots || apart > most) return knots;
  }
}

WidthSurface::Corners WidthSurface::corners_of(const Widths& widths) const {
  const Between a = between(knots_[0], widths[0], block_);
  const Between b = between(knots_[1], widths[1], block_);
  const size_t row = knots_[1].size();
  return {{a.below * row + b.below, a.below * row + b.above, a.above * row + b.below,
           a.above * row + b.above},
          {(1 - a.share) * (1 - b.share), (1 - a.share) * b.share, a.share * (1 - b.share),
           a.share * b.share}};
}

double WidthSurface::at(const Widths& widths) const {
  const Corners corners = corners_of(widths);
  double ms = 0;
  for (size_t i = 0; i < corners.knots.size(); ++i) ms += corners.shares[i] * ms_[corners.knots[i]];
  return std::max(ms, 0.0);
}

std::vector<double> WidthSurface::times_matrix(std::span<const Corners> corners,
                                               const std::vector<double>& values) const {
  std::vector<double> sum(values.size());
  for (const Corners& sample : corners) {
    double ms = 0;
    for (size_t i = 0; i < 4; ++i) ms += sample.shares[i] * values[sample.knots[i]];
    for (size_t i = 0; i < 4; ++i) sum[sample.knots[i]] += sample.shares[i] * ms;
  }
  const size_t rows = knots_[0].size(), columns = knots_[1].size();
  for (size_t r = 0; r < rows; ++r) add_bending(values, r * columns, 1, knots_[1], sum);
  for (size_t c = 0; c < columns; ++c) add_bending(values, c, columns, knots_[0], sum);
  // Keeps the matrix regular where neither samples nor differences say anything.
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += 1e-9 * values[i];
  return sum;
}

void WidthSurface::solve(std::span<const WidthSample> samples, const std::vector<double>& weights) {
  std::vector<Corners> corners;
  std::vector<double> residual(ms_.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    corners.push_back(corners_of(samples[i].widths));
    for (size_t c = 0; c < 4; ++c) {
      double& share = corners.back().shares[c];
      residual[corners.back().knots[c]] += weights[i] * share * samples[i].ms;
      share *= std::sqrt(weights[i]);
    }
  }
  const std::vector<double> start = times_matrix(corners, ms_);
  for (size_t i = 0; i < residual.size(); ++i) residual[i] -= start[i];
  std::vector<double> direction = residual;
  double error = dot(residual, residual);
  const double enough = error * kAccurate * kAccurate;
  for (int step = 0; step < kMostSteps && error > enough; ++step) {
    const std::vector<double> image = times_matrix(corners, direction);
    const double length = error / dot(direction, image);
    for (size_t i = 0; i < ms_.size(); ++i) {
      ms_[i] += length * direction[i];
      residual[i] -= length * image[i];
    }
    const double next = dot(residual, residual);
    for (size_t i = 0; i < ms_.size(); ++i) {
      direction[i] = residual[i] + next / error * direction[i];
    }
    error = next;
  }
}

WidthSurface WidthSurface::fit(std::span<const WidthSample> samples, int64_t block) {
  WidthSurface surface;
  surface.block_ = block;
  for (size_t axis = 0; axis < 2; ++axis) {
    const auto [least, most] =
        std::ranges::minmax(samples, {}, [&](const WidthSample& s) { return s.widths[axis]; });
    surface.knots_[axis] = stair_knots(least.widths[axis], most.widths[axis], block);
  }
  double mean = 0;
  for (const WidthSample& sample : samples) mean += sample.ms;
  mean /= static_cast<double>(samples.size());
  surface.ms_.assign(surface.knots_[0].size() * surface.knots_[1].size(), mean);
  // A sample that is farther away than usual counts by its distance, not by the square: several at
  // one knot give their median.
  std::vector<double> weights(samples.size(), 1);
  for (int round = 0; round < kRounds; ++round) {
    surface.solve(samples, weights);
    for (size_t i = 0; i < samples.size(); ++i) {
      const double distance = std::abs(samples[i].ms - surface.at(samples[i].widths));
      weights[i] = distance > kUsual * mean ? kUsual * mean / distance : 1;
    }
  }
  return surface;
}

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
