// GridSample: reads an image [n, c, (d,) h, w] at the coordinates in a grid [n, (od,) oh, ow, 2 or
// 3], x first, where -1 and 1 are the borders: the centres of the border pixels with align_corners,
// else their outer edges. Every output is a sum of input elements times weights that are products
// over the axes. Coordinates are data, so any value may occur, NaN included.
#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

enum class Mode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

struct Rule {
  Mode mode;
  Padding padding;
  bool align_corners;
};

// Opset 20 calls bilinear linear, and bicubic cubic.
Result<Rule> rule_of(const Node& node) {
  const std::string mode = node.text("mode", "bilinear");
  const std::string padding = node.text("padding_mode", "zeros");
  Rule rule{Mode::kNearest, Padding::kZeros, node.integer("align_corners", 0) != 0};
  if (mode == "bilinear" || mode == "linear")
    rule.mode = Mode::kLinear;
  else if (mode == "bicubic" || mode == "cubic")
    rule.mode = Mode::kCubic;
  else if (mode != "nearest")
    return invalid("mode '" + mode + "' is unknown");
  if (padding == "border")
    rule.padding = Padding::kBorder;
  else if (padding == "reflection")
    rule.padding = Padding::kReflection;
  else if (padding != "zeros")
    return invalid("padding_mode '" + padding + "' is unknown");
  return rule;
}

Result<std::vector<TensorType>> infer_grid_sample(const Node& node,
                                                  std::span<const Operand> inputs) {
  SHOAL_TRY(rule_of(node).status());
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require<Floats>(inputs[1]));
  const Shape &x = inputs[0].type.shape, &grid = inputs[1].type.shape;
  if (x.rank() != 4 && x.rank() != 5) return invalid("takes images and volumes, of rank 4 and 5");
  SHOAL_TRY(require_rank(inputs[1], x.rank()));
  if (grid[0] != x[0] || grid[grid.rank() - 1] != static_cast<int64_t>(x.rank()) - 2) {
    return invalid("grid " + to_string(grid) + " does not fit the input " + to_string(x));
  }
  Shape y{x[0], x[1]};
  for (size_t d = 1; d + 1 < grid.rank(); ++d) y.push_back(grid[d]);
  return std::vector{TensorType{inputs[0].type.dtype, y}};
}

// Elements of one axis and their weights.
struct Taps {
  std::array<int64_t, 4> index{};
  std::array<double, 4> weight{};
  size_t count = 0;

  void add(int64_t i, double w) {
    index[count] = i;
    weight[count++] = w;
  }
};

// Reflects x at low and high until it is inside. The number of reflections is computed, not
// counted: x may be far away.
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double beyond = x < low ? low - x : x > high ? x - high : 0;
  if (beyond == 0) return x;
  const double turns = std::floor(beyond / range), rest = beyond - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

class Axis {
 public:
  Axis(const Rule& rule, int64_t length)
      : rule_(rule),
        length_(length),
        // The edges of the axis, at which reflection happens.
        low_(rule.align_corners ? 0 : -0.5),
        high_(static_cast<double>(length) - (rule.align_corners ? 1 : 0.5)) {}

  Taps taps(double normalized) const {
    Taps taps;
    const double x = padded(coordinate(normalized));
    const double first = std::floor(x), rest = x - first;
    const auto at = static_cast<int64_t>(first);
    switch (rule_.mode) {
      case Mode::kNearest:
        add(taps, static_cast<int64_t>(x), 1);
        break;
      case Mode::kLinear:
        add(taps, at, 1 - rest);
        add(taps, at + 1, rest);
        break;
      case Mode::kCubic:
        for (int64_t k = -1; k <= 2; ++k) add(taps, at + k, cubic(rest - static_cast<double>(k)));
        break;
    }
    return taps;
  }

 private:
  double coordinate(double normalized) const {
    const auto n = static_cast<double>(length_);
    double x =
        rule_.align_corners ? (normalized + 1) / 2 * (n - 1) : ((normalized + 1) * n - 1) / 2;
    // NaN counts as far outside. Coordinates far outside are clamped, so that they still fit an
    // integer.
    constexpr double kFar = 0x1p52;
    x = std::isnan(x) ? -kFar : std::clamp(x, -kFar, kFar);
    return rule_.mode == Mode::kNearest ? std::nearbyint(x) : x;
  }

  double padded(double x) const {
    if (x >= low_ && x <= high_) return x;
    if (rule_.padding == Padding::kBorder)
      return std::clamp(x, 0.0, static_cast<double>(length_ - 1));
    return rule_.padding == Padding::kReflection ? reflect(x, low_, high_) : x;
  }

  void add(Taps& taps, int64_t i, double weight) const {
    const bool inside = i >= 0 && i < length_;
    if (!inside && rule_.padding == Padding::kZeros) return;
    if (!inside && rule_.padding == Padding::kReflection) {
      i = static_cast<int64_t>(reflect(static_cast<double>(i), low_, high_));
    }
    taps.add(std::clamp<int64_t>(i, 0, length_ - 1), weight);
  }

  // The cubic convolution kernel of Keys with a = -0.75, as in other frameworks.
  static double cubic(double t) {
    constexpr double a = -0.75;
    t = std::abs(t);
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  }

  Rule rule_;
  int64_t length_;
  double low_, high_;
};

// The places of some points of the output in a plane. They are the same for all channels, so they
// are computed once.
template <class C>
struct Points {
  std::vector<size_t> ends;  // of the elements of a point
  std::vector<int64_t> offsets;
  std::vector<C> weights;

  // z, y and x: a plane has one z.
  void add(const Taps& z, const Taps& y, const Taps& x, int64_t height, int64_t width) {
    for (size_t k = 0; k < z.count; ++k) {
      for (size_t i = 0; i < y.count; ++i) {
        for (size_t j = 0; j < x.count; ++j) {
          offsets.push_back((z.index[k] * height + y.index[i]) * width + x.index[j]);
          weights.push_back(static_cast<C>(z.weight[k] * y.weight[i] * x.weight[j]));
        }
      }
    }
    ends.push_back(offsets.size());
  }

  template <class T>
  void read(const T* plane, T* out) const {
    size_t k = 0;
    for (size_t point = 0; point < ends.size(); ++point) {
      C sum = 0;
      for (; k < ends[point]; ++k) sum += weights[k] * static_cast<C>(plane[offsets[k]]);
      out[point] = static_cast<T>(sum);
    }
  }
};

template <class T>
void sample(const Rule& rule, const Tensor& x, const Tensor& grid, Tensor& y) {
  using C = Compute<T>;
  constexpr int64_t kBlock = 256;  // points whose places are kept at a time
  const Shape& in = x.shape();
  const size_t rank = in.rank();
  const int64_t height = in[rank - 2], width = in[rank - 1], size = in.count(2, rank);
  const Axis axis_x(rule, width), axis_y(rule, height), axis_z(rule, in[2]);
  Taps plane;
  plane.add(0, 1);
  const int64_t places = static_cast<int64_t>(rank) - 2, count = y.shape().count(2, rank);
  for (int64_t n = 0; n < in[0]; ++n) {
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      Points<C> points;
      for (int64_t k = begin; k < std::min(begin + kBlock, count); ++k) {
        const C* at = grid.data<C>().data() + (n * count + k) * places;
        points.add(places == 3 ? axis_z.taps(at[2]) : plane, axis_y.taps(at[1]), axis_x.taps(at[0]),
                   height, width);
      }
      for (int64_t channel = n * in[1]; channel < (n + 1) * in[1]; ++channel) {
        points.read(x.data<T>().data() + channel * size,
                    y.data<T>().data() + channel * count + begin);
      }
    }
  }
}

void reference_grid_sample(const Node& node, std::span<const Tensor> inputs,
                           std::span<Tensor> outputs) {
  // Without elements there is nothing to clamp coordinates to. Outputs are zero then.
  if (inputs[0].count() == 0) {
    std::ranges::fill(outputs[0].bytes(), std::byte{0});
    return;
  }
  const Rule rule = *rule_of(node);
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    sample<T>(rule, inputs[0], converted(inputs[1], kDTypeOf<Compute<T>>), outputs[0]);
  });
}

// An output reads its own place in the grid, which may name any place of the image. So images are
// cut by batch and channels only.
std::optional<Tile> split_grid_sample(const Node& node, std::span<const Operand> inputs,
                                      const Region& output) {
  Region x = Region::whole(inputs[0].type.shape), grid = Region::whole(inputs[1].type.shape);
  for (size_t d = 0; d < output.begin.rank(); ++d) {
    if (d < 2) x.begin[d] = output.begin[d], x.end[d] = output.end[d];
    if (d == 1) continue;
    const size_t axis = d == 0 ? 0 : d - 1;
    grid.begin[axis] = output.begin[d];
    grid.end[axis] = output.end[d];
  }
  return Tile{{x, grid}, output, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(grid_sample) = {.name = "GridSample",
                             .min_inputs = 2,
                             .max_inputs = 2,
                             .infer = infer_grid_sample,
                             .reference = reference_grid_sample,
                             .split = split_grid_sample,
                             .linear = true};

}  // namespace shoal::ops
