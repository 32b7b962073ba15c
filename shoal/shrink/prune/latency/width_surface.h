// WidthSurface: milliseconds as a function of one or two widths, piecewise linear between knots.
// Channels lie in blocks, so that times rise in stairs: knots stand at both ends of a step.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal::shrink {

// How wide a step's values are. The second is 0 where only one width matters.
using Widths = std::array<int64_t, 2>;

// One measurement.
struct WidthSample {
  Widths widths = {};
  double ms = 0;
};

// Where times may bend between two widths, both included, in ascending order: the narrowest one by
// one, because layers are computed in another way there, then at the first, the middle and the last
// channel of each block. Above kMostKnots, blocks are taken together two by two: one step of many
// is lost in noise. REQUIRES: 0 <= least <= most, and block >= 1.
std::vector<int64_t> stair_knots(int64_t least, int64_t most, int64_t block);

inline constexpr size_t kMostKnots = 24;

// A value.
class WidthSurface {
 public:
  WidthSurface() = default;  // no time at all
  // The surface that is nearest to the samples; where there are none it goes on as it does beside
  // them. A few samples that something else on the machine disturbed do not move it far.
  // `block`: how many channels the device computes at once; 1: no stairs. REQUIRES: there are
  // samples, and block >= 1.
  static WidthSurface fit(std::span<const WidthSample> samples, int64_t block);

  // Never below zero. Beyond the outermost samples it stays as it is there.
  double at(const Widths& widths) const;

 private:
  // The knots around a point, and their shares in it.
  struct Corners {
    std::array<size_t, 4> knots = {};
    std::array<double, 4> shares = {};
  };

  Corners corners_of(const Widths& widths) const;
  // From the present surface on.
  void solve(std::span<const WidthSample> samples, const std::vector<double>& weights);
  std::vector<double> times_matrix(std::span<const Corners> corners,
                                   const std::vector<double>& values) const;

  int64_t block_ = 1;
  std::array<std::vector<int64_t>, 2> knots_ = {{{0}, {0}}};
  std::vector<double> ms_ = {0};  // [knots_[0], knots_[1]]
};

}  // namespace shoal::shrink
