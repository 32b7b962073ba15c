#include "shoal/model/ops/image/resize_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "shoal/base/limits.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using Mode = ResizeRule::Mode;
using Coordinates = ResizeRule::Coordinates;
using Nearest = ResizeRule::Nearest;

// A bound on the tables of taps, whose size a file decides. Axes that are copied have none and may
// be longer.
constexpr int64_t kMaxResizedLength = int64_t{1} << 24;

// A private attribute, present in tiles only: four numbers per axis, the length of the whole input
// and the ranges of the input and the output that the tile has.
constexpr std::string_view kTile = "shoal_tile";

template <class E, size_t N>
using Words = std::array<std::pair<std::string_view, E>, N>;

constexpr Words<Mode, 3> kModes = {
    {{"nearest", Mode::kNearest}, {"linear", Mode::kLinear}, {"cubic", Mode::kCubic}}};
constexpr Words<Coordinates, 6> kCoordinates = {
    {{"half_pixel", Coordinates::kHalfPixel},
     {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
     {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
     {"align_corners", Coordinates::kAlignCorners},
     {"asymmetric", Coordinates::kAsymmetric},
     {"tf_crop_and_resize", Coordinates::kTfCropAndResize}}};
constexpr Words<Nearest, 4> kNearest = {{{"round_prefer_floor", Nearest::kRoundPreferFloor},
                                         {"round_prefer_ceil", Nearest::kRoundPreferCeil},
                                         {"floor", Nearest::kFloor},
                                         {"ceil", Nearest::kCeil}}};

// The meaning of a string attribute; the first word is the default.
template <class E, size_t N>
Result<E> word_of(const Node& node, std::string_view key, const Words<E, N>& words) {
  const std::string word = node.text(key, std::string(words[0].first));
  for (const auto& [text, meaning] : words) {
    if (text == word) return meaning;
  }
  return invalid(std::string(key) + " '" + word + "' is unknown");
}

bool is_given(std::span<const Operand> inputs, size_t i) {
  // Opset 11 leaves an input out by giving an empty tensor.
  return i < inputs.size() && inputs[i].given && inputs[i].type.shape.count() > 0;
}

Result<std::vector<double>> require_numbers(const Operand& operand, size_t count,
                                            std::string_view what) {
  SHOAL_TRY(require<Floats>(operand));
  SHOAL_TRY(require_rank(operand, 1).at(what));
  std::vector<double> numbers;
  visit<Floats>(operand.type.dtype, [&]<class T>() {
    for (T x : operand.value->data<T>()) numbers.push_back(static_cast<double>(x));
  });
  if (numbers.size() != count ||
      !std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); })) {
    return invalid(std::string(what) + " should be " + std::to_string(count) + " finite numbers");
  }
  return numbers;
}

// The axes that the inputs refer to, in their order; all axes unless `axes` (opset 18) names some.
Result<std::vector<size_t>> resized_axes(const Node& node, size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (!node.has("axes")) return axes;
  const std::vector<int64_t> named = node.integers("axes");
  SHOAL_TRY(require_axes(named, rank).status());
  axes.clear();
  for (int64_t axis : named) axes.push_back(axis_in(axis, rank));
  return axes;
}

// floor(in * span * scale), in single precision as in other engines: 10 * 0.7f is 7.0f there, and
// less in double.
Status scale_axis(ResizeAxis& axis, double scale) {
  if (!(scale > 0)) return invalid("scales should be positive");
  const float product = static_cast<float>(axis.in) *
                        static_cast<float>(axis.roi_end - axis.roi_begin) *
                        static_cast<float>(scale);
  if (!(product >= 0) || product > static_cast<float>(kLimits.max_dimension)) {
    return invalid("scale " + std::to_string(scale) + " is out of range");
  }
  axis.out = static_cast<int64_t>(product);
  // Where the product is an integer, the scale was meant as the quotient of two lengths. As a
  // float, 1/3 is not exactly that, so the quotient is used.
  axis.length = static_cast<float>(axis.out) == product
                    ? static_cast<double>(axis.out)
                    : static_cast<double>(axis.in) * (axis.roi_end - axis.roi_begin) * scale;
  return {};
}

// The sizes are only bounds: the result keeps the aspect ratio and fits into them (not_larger) or
// covers them (not_smaller).
Status keep_aspect_ratio(std::vector<ResizeAxis>& axes, std::span<const size_t> resized,
                         bool larger) {
  double scale = larger ? 0 : std::numeric_limits<double>::infinity();
  for (size_t d : resized) {
    if (axes[d].in == 0) return invalid("an empty axis has no aspect ratio");
    const double own = static_cast<double>(axes[d].out) / static_cast<double>(axes[d].in);
    scale = larger ? std::max(scale, own) : std::min(scale, own);
  }
  for (size_t d : resized) {
    axes[d].length = scale * static_cast<double>(axes[d].in);
    if (!(axes[d].length <= static_cast<double>(kLimits.max_dimension))) {
      return invalid("sizes are out of range");
    }
    axes[d].out = static_cast<int64_t>(std::floor(axes[d].length + 0.5));
  }
  return {};
}

Status set_sizes(const Node& node, const Operand& sizes, std::vector<ResizeAxis>& axes,
                 std::span<const size_t> resized) {
  SHOAL_ASSIGN(std::vector<int64_t> values, require_ints(sizes));
  if (values.size() != resized.size()) return invalid("sizes do not match the axes");
  for (size_t k = 0; k < resized.size(); ++k) {
    ResizeAxis& axis = axes[resized[k]];
    if (values[k] < 0 || values[k] > kLimits.max_dimension) {
      return invalid("size " + std::to_string(values[k]) + " is out of range");
    }
    axis.out = values[k];
    axis.length = static_cast<double>(axis.out);
  }
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return {};
  if (policy != "not_larger" && policy != "not_smaller") {
    return invalid("keep_aspect_ratio_policy '" + policy + "' is unknown");
  }
  return keep_aspect_ratio(axes, resized, policy == "not_smaller");
}

Status set_scales(const Operand& scales, std::vector<ResizeAxis>& axes,
                  std::span<const size_t> resized) {
  SHOAL_ASSIGN(std::vector<double> values, require_numbers(scales, resized.size(), "scales"));
  for (size_t k = 0; k < resized.size(); ++k) SHOAL_TRY(scale_axis(axes[resized[k]], values[k]));
  return {};
}

Status set_roi(std::span<const Operand> inputs, std::vector<ResizeAxis>& axes,
               std::span<const size_t> resized) {
  if (!is_given(inputs, 1)) return invalid("tf_crop_and_resize needs the input roi");
  const size_t n = resized.size();
  SHOAL_ASSIGN(std::vector<double> roi, require_numbers(inputs[1], 2 * n, "roi"));
  for (size_t k = 0; k < n; ++k) {
    axes[resized[k]].roi_begin = roi[k];
    axes[resized[k]].roi_end = roi[n + k];
  }
  return {};
}

// The axes of the whole tensor. The input of a tile is a part of it; its position comes from an
// attribute and is checked like any other number of a file.
Result<std::vector<ResizeAxis>> whole_axes(const Node& node, const Shape& shape) {
  const std::vector<int64_t> tile = node.integers(kTile);
  if (!tile.empty() && tile.size() != 4 * shape.rank())
    return invalid("a tile needs four numbers per axis");
  std::vector<ResizeAxis> axes(shape.rank());
  for (size_t d = 0; d < axes.size(); ++d) {
    ResizeAxis& axis = axes[d];
    axis.in = tile.empty() ? shape[d] : tile[4 * d];
    axis.in_begin = tile.empty() ? 0 : tile[4 * d + 1];
    if (axis.in < shape[d] || axis.in > kLimits.max_dimension || axis.in_begin < 0 ||
        axis.in_begin > axis.in - shape[d]) {
      return invalid("a tile lies outside the tensor");
    }
    axis.in_end = axis.in_begin + shape[d];
    axis.out = axis.in;
    axis.length = static_cast<double>(axis.in);
  }
  return axes;
}

Status set_parts(const Node& node, std::vector<ResizeAxis>& axes) {
  const std::vector<int64_t> tile = node.integers(kTile);
  for (size_t d = 0; d < axes.size(); ++d) {
    ResizeAxis& axis = axes[d];
    axis.out_begin = tile.empty() ? 0 : tile[4 * d + 2];
    axis.out_end = tile.empty() ? axis.out : tile[4 * d + 3];
    if (axis.out_begin < 0 || axis.out_begin > axis.out_end || axis.out_end > axis.out) {
      return invalid("a tile lies outside the tensor");
    }
  }
  return {};
}

// The place in the input of an output position, by the formulas of ONNX's
// coordinate_transformation_mode. `length` is the output length before rounding, so length / in is
// the exact scale.
double coordinate_of(const ResizeRule& rule, const ResizeAxis& axis, int64_t position) {
  const auto x = static_cast<double>(position), in = static_cast<double>(axis.in);
  const double half_pixel = (x + 0.5) * in / axis.length - 0.5;
  switch (rule.coordinates) {
    case Coordinates::kHalfPixel:
      return half_pixel;
    case Coordinates::kHalfPixelSymmetric:
      return half_pixel + in / 2 * (1 - static_cast<double>(axis.out) / axis.length);
    case Coordinates::kPytorchHalfPixel:
      return axis.length > 1 ? half_pixel : 0;
    case Coordinates::kAlignCorners:
      return axis.length > 1 ? x * (in - 1) / (axis.length - 1) : 0;
    case Coordinates::kAsymmetric:
      return x * in / axis.length;
    case Coordinates::kTfCropAndResize:
      break;
  }
  const double span = axis.roi_end - axis.roi_begin;
  return (axis.roi_begin + span * (axis.length > 1 ? x / (axis.length - 1) : 0.5)) * (in - 1);
}

double nearest_of(Nearest nearest, double x) {
  switch (nearest) {
    case Nearest::kRoundPreferFloor:
      return std::ceil(x - 0.5);
    case Nearest::kRoundPreferCeil:
      return std::floor(x + 0.5);
    case Nearest::kFloor:
      return std::floor(x);
    case Nearest::kCeil:
      return std::ceil(x);
  }
  return x;
}

// The weight of an element at distance t: a triangle, or the cubic convolution kernel of Keys (IEEE
// Trans. ASSP 29, 1981, eq. 4).
double kernel(const ResizeRule& rule, double t) {
  t = std::abs(t);
  if (rule.mode == Mode::kLinear) return std::max(0.0, 1 - t);
  const double a = rule.cubic_a;
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

class TapsBuilder {
 public:
  TapsBuilder(const ResizeRule& rule, const ResizeAxis& axis)
      : rule_(rule), axis_(axis), last_(axis.in - 1) {
    const double scale = axis.length / static_cast<double>(axis.in);
    // Antialiasing widens the kernel by the factor by which the axis shrinks, so that every input
    // counts.
    squeeze_ = rule.antialias ? std::min(scale, 1.0) : 1;
    radius_ = (rule.mode == Mode::kLinear ? 1 : 2) / squeeze_;
  }

  ResizeTaps build() && {
    taps_.offsets.push_back(0);
    for (int64_t position = axis_.out_begin; position < axis_.out_end; ++position) {
      add(coordinate_of(rule_, axis_, position));
      taps_.offsets.push_back(taps_.weights.size());
    }
    return std::move(taps_);
  }

 private:
  void add(double x) {
    // A region of interest may lie far outside; its coordinates are clamped, so that they still fit
    // an integer.
    constexpr double kFar = 0x1p52;
    x = std::clamp(x, -kFar, kFar);
    if (rule_.coordinates == Coordinates::kTfCropAndResize &&
        (x < 0 || x > static_cast<double>(last_))) {
      taps_.first.push_back(0);
    } else if (rule_.mode == Mode::kNearest) {
      taps_.first.push_back(inside(nearest_of(rule_.nearest, x)) - axis_.in_begin);
      taps_.weights.push_back(1);
    } else {
      add_window(x);
    }
  }

  // The elements within the radius. Those outside the axis repeat its ends or, with
  // exclude_outside, do not count; the others' weights are normalized then.
  void add_window(double x) {
    const double low = std::ceil(x - radius_), high = std::floor(x + radius_);
    const int64_t from = inside(low), to = inside(high);
    window_.assign(static_cast<size_t>(to - from + 1), 0);
    double sum = 0;
    for (double i = low; i <= high; ++i) {
      if (rule_.exclude_outside && (i < 0 || i > static_cast<double>(last_))) continue;
      const double weight = kernel(rule_, (i - x) * squeeze_);
      window_[static_cast<size_t>(inside(i) - from)] += weight;
      sum += weight;
    }
    if ((rule_.exclude_outside || rule_.antialias) && sum != 0) {
      for (double& weight : window_) weight /= sum;
    }
    append(from);
  }

  // Drops zeros at the ends: zero times infinity is not zero, so an element of weight 0 must not be
  // read.
  void append(int64_t from) {
    auto begin = window_.begin(), end = window_.end();
    while (end - begin > 1 && end[-1] == 0) --end;
    while (end - begin > 1 && *begin == 0) ++begin;
    taps_.first.push_back(from + (begin - window_.begin()) - axis_.in_begin);
    taps_.weights.insert(taps_.weights.end(), begin, end);
  }

  // The element that stands for index i. A tile has all elements that it needs; the second clamp
  // keeps an inconsistent tile from reading outside.
  int64_t inside(double i) const {
    const auto index = static_cast<int64_t>(std::clamp(i, 0.0, static_cast<double>(last_)));
    return std::clamp(index, axis_.in_begin, axis_.in_end - 1);
  }

  const ResizeRule& rule_;
  const ResizeAxis& axis_;
  int64_t last_;
  double squeeze_;
  double radius_;
  std::vector<double> window_;
  ResizeTaps taps_;
};

}  // namespace

bool ResizeAxis::is_identity(const ResizeRule& rule) const {
  const bool same =
      in == out && length == static_cast<double>(in) && in_begin == out_begin && in_end == out_end;
  return same &&
         (rule.coordinates != Coordinates::kTfCropAndResize || (roi_begin == 0 && roi_end == 1));
}

Result<ResizeRule> resize_rule(const Node& node) {
  ResizeRule rule{};
  SHOAL_ASSIGN(rule.mode, word_of(node, "mode", kModes));
  SHOAL_ASSIGN(rule.coordinates, word_of(node, "coordinate_transformation_mode", kCoordinates));
  SHOAL_ASSIGN(rule.nearest, word_of(node, "nearest_mode", kNearest));
  rule.antialias = node.integer("antialias", 0) != 0;
  rule.exclude_outside = node.integer("exclude_outside", 0) != 0;
  rule.cubic_a = node.real("cubic_coeff_a", -0.75f);
  rule.extrapolation_value = node.real("extrapolation_value", 0);
  return rule;
}

Result<std::vector<ResizeAxis>> resize_axes(const Node& node, const ResizeRule& rule,
                                            std::span<const Operand> inputs) {
  const Shape& shape = inputs[0].type.shape;
  SHOAL_ASSIGN(std::vector<size_t> resized, resized_axes(node, shape.rank()));
  SHOAL_ASSIGN(std::vector<ResizeAxis> axes, whole_axes(node, shape));
  if (rule.coordinates == Coordinates::kTfCropAndResize) SHOAL_TRY(set_roi(inputs, axes, resized));
  if (is_given(inputs, 2) == is_given(inputs, 3)) {
    return invalid("needs either scales or sizes");
  }
  if (is_given(inputs, 2)) {
    SHOAL_TRY(set_scales(inputs[2], axes, resized));
  } else {
    SHOAL_TRY(set_sizes(node, inputs[3], axes, resized));
  }
  SHOAL_TRY(set_parts(node, axes));
  for (const ResizeAxis& axis : axes) {
    if (axis.is_identity(rule)) continue;
    if (axis.in > kMaxResizedLength || axis.out > kMaxResizedLength) {
      return invalid("cannot resize an axis of more than " + std::to_string(kMaxResizedLength));
    }
    if (axis.in_begin == axis.in_end && axis.out_begin < axis.out_end) {
      return invalid("cannot resize an empty axis");
    }
  }
  return axes;
}

ResizeTaps resize_taps(const ResizeRule& rule, const ResizeAxis& axis) {
  return TapsBuilder(rule, axis).build();
}

Attributes resize_tile(const Node& node, std::span<const ResizeAxis> axes) {
  std::vector<int64_t> tile;
  for (const ResizeAxis& axis : axes) {
    tile.insert(tile.end(), {axis.in, axis.in_begin, axis.out_begin, axis.out_end});
  }
  Attributes attributes = node.attributes;
  attributes[std::string(kTile)] = std::move(tile);
  return attributes;
}

}  // namespace shoal::ops
