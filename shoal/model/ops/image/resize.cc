// Resize: every output is a weighted sum of the input elements around its place there. The weights
// are products over the axes, so axes are resized one after the other: an image costs 2 + 2 taps
// per output, not 2 * 2. resize_axis.h has the coordinates and the weights; the gradient is in
// gradient_resize.cc.
#include <algorithm>
#include <numeric>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/image/resize_axis.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_resize(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(ResizeRule rule, resize_rule(node));
  if (rule.mode != ResizeRule::Mode::kNearest) SHOAL_TRY(require<Numbers>(inputs[0]));
  SHOAL_ASSIGN(std::vector<ResizeAxis> axes, resize_axes(node, rule, inputs));
  Shape shape;
  for (const ResizeAxis& axis : axes) shape.push_back(axis.out_end - axis.out_begin);
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

// One axis of a tensor seen as [outer, length, inner].
struct Step {
  size_t axis;
  ResizeTaps taps;
  int64_t out() const { return static_cast<int64_t>(taps.first.size()); }
};

// Axes that shrink come first, to reduce the work of the others, then inner axes, which leaves long
// rows to the outer ones. The order depends on the sizes of the whole, not of the tile, so that a
// tile adds the same numbers in the same order.
std::vector<Step> steps_of(const ResizeRule& rule, std::span<const ResizeAxis> axes) {
  auto growth = [&](size_t d) {
    return static_cast<double>(axes[d].out) / static_cast<double>(axes[d].in);
  };
  std::vector<size_t> order;
  for (size_t d = axes.size(); d-- > 0;) {
    if (!axes[d].is_identity(rule)) order.push_back(d);
  }
  std::ranges::stable_sort(order, {}, growth);
  std::vector<Step> steps;
  steps.reserve(order.size());
  for (size_t d : order) steps.push_back({d, resize_taps(rule, axes[d])});
  return steps;
}

// Copies rows of `inner` elements.
template <class T>
struct Pick {
  T outside;

  void operator()(const Step& step, const T* x, int64_t inner, T* y) const {
    for (size_t k = 0; k < step.taps.first.size(); ++k, y += inner) {
      if (step.taps.offsets[k] == step.taps.offsets[k + 1]) {
        std::fill_n(y, inner, outside);
      } else if (inner == 1) {  // a call to copy four bytes would take most of the time
        *y = x[step.taps.first[k]];
      } else {
        std::copy_n(x + step.taps.first[k] * inner, inner, y);
      }
    }
  }
};

// Adds up rows of `inner` elements.
template <class T>
struct Blend {
  T outside;

  void operator()(const Step& step, const T* x, int64_t inner, T* y) const {
    const auto& [first, offsets, weights] = step.taps;
    for (size_t k = 0; k < first.size(); ++k, y += inner) {
      const std::span<const double> w(weights.data() + offsets[k], offsets[k + 1] - offsets[k]);
      if (w.empty()) {
        std::fill_n(y, inner, outside);
      } else {
        add_up(w, x + first[k] * inner, inner, y);
      }
    }
  }

 private:
  static void add_up(std::span<const double> weights, const T* x, int64_t inner, T* y) {
    const T first = static_cast<T>(weights[0]);
    if (weights.size() == 2) {  // linear: worth a loop that writes once
      const T second = static_cast<T>(weights[1]);
      for (int64_t i = 0; i < inner; ++i) y[i] = first * x[i] + second * x[inner + i];
      return;
    }
    for (int64_t i = 0; i < inner; ++i) y[i] = first * x[i];
    for (size_t t = 1; t < weights.size(); ++t) {
      const T weight = static_cast<T>(weights[t]);
      x += inner;
      for (int64_t i = 0; i < inner; ++i) y[i] += weight * x[i];
    }
  }
};

template <class T, class Pass>
void run(std::span<const Step> steps, Tensor x, Tensor& y, const Pass& pass) {
  if (steps.empty()) std::ranges::copy(x.bytes(), y.bytes().begin());
  for (const Step& step : steps) {
    Shape shape = x.shape();
    const int64_t outer = shape.count(0, step.axis), in = shape[step.axis];
    const int64_t inner = shape.count(step.axis + 1, shape.rank());
    shape[step.axis] = step.out();
    Tensor to = &step == &steps.back() ? y : Tensor({x.dtype(), shape});
    for (int64_t o = 0; o < outer; ++o) {
      pass(step, x.data<T>().data() + o * in * inner, inner,
           to.data<T>().data() + o * step.out() * inner);
    }
    x = to;
  }
}

// The type that elements are blended in: f32 if it holds them exactly, else f64.
DType blend_type(DType dtype) {
  return dtype == DType::kF64 || (Ints::contains(dtype) && size_of(dtype) > 2) ? DType::kF64
                                                                               : DType::kF32;
}

void blend(const ResizeRule& rule, std::span<const Step> steps, const Tensor& x, Tensor& y) {
  visit<Types<float, double>>(blend_type(x.dtype()), [&]<class T>() {
    const Blend<T> pass{static_cast<T>(rule.extrapolation_value)};
    if (x.dtype() == kDTypeOf<T>) return run<T>(steps, x, y, pass);
    Tensor wide({kDTypeOf<T>, y.shape()});
    run<T>(steps, converted(x, kDTypeOf<T>), wide, pass);
    std::ranges::copy(converted(wide, y.dtype()).bytes(), y.bytes().begin());
  });
}

std::vector<Operand> operands_of(std::span<const Tensor> inputs) {
  std::vector<Operand> operands;
  for (const Tensor& t : inputs) operands.push_back({t.defined(), t.type(), &t});
  return operands;
}

void reference_resize(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const ResizeRule rule = *resize_rule(node);
  const auto axes = *resize_axes(node, rule, operands_of(inputs));
  const std::vector<Step> steps = steps_of(rule, axes);
  if (rule.mode != ResizeRule::Mode::kNearest) return blend(rule, steps, inputs[0], outputs[0]);
  visit<AllTypes>(inputs[0].dtype(), [&]<class T>() {
    run<T>(steps, inputs[0], outputs[0], Pick<T>{convert<T>(rule.extrapolation_value)});
  });
}

// The axis with only these outputs, and only the inputs that their taps touch.
ResizeAxis narrowed(const ResizeRule& rule, const ResizeAxis& axis, int64_t begin, int64_t end) {
  ResizeAxis part = axis;
  part.out_begin = axis.out_begin + begin;
  part.out_end = axis.out_begin + end;
  if (axis.is_identity(rule)) {
    part.in_begin = part.out_begin;
    part.in_end = part.out_end;
    return part;
  }
  const ResizeTaps taps = resize_taps(rule, part);
  int64_t low = axis.in_end - axis.in_begin, high = 0;
  for (size_t k = 0; k < taps.first.size(); ++k) {
    const auto n = static_cast<int64_t>(taps.offsets[k + 1] - taps.offsets[k]);
    if (n == 0) continue;
    low = std::min(low, taps.first[k]);
    high = std::max(high, taps.first[k] + n);
  }
  if (low >= high) low = 0, high = 1;  // all outside, but a tile must not be empty
  part.in_begin = axis.in_begin + low;
  part.in_end = axis.in_begin + high;
  return part;
}

// Coordinates in a tile depend on the sizes of the whole, so an attribute tells the node which part
// of it the tile is.
std::optional<Tile> split_resize(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  auto rule = resize_rule(node);
  if (!rule.ok()) return std::nullopt;
  auto axes = resize_axes(node, *rule, inputs);
  if (!axes.ok()) return std::nullopt;
  Tile tile{{Region::whole(inputs[0].type.shape)}, output, {}, {}};
  for (size_t d = 0; d < axes->size(); ++d) {
    const int64_t had = (*axes)[d].in_begin;
    (*axes)[d] = narrowed(*rule, (*axes)[d], output.begin[d], output.end[d]);
    tile.inputs[0].begin[d] = (*axes)[d].in_begin - had;
    tile.inputs[0].end[d] = (*axes)[d].in_end - had;
  }
  for (const Operand& input : inputs.subspan(1)) {
    tile.inputs.push_back(input.given ? Region::whole(input.type.shape) : Region{});
  }
  tile.attributes = resize_tile(node, *axes);
  return tile;
}

// Axes that keep their length lose indices; for the others, coordinates would move.
std::optional<Settings> shrink_resize(const Node& node, std::span<const Operand> inputs,
                                      const Remainder& left) {
  const Shape& from = inputs[0].type.shape;
  const ResizeRule rule = *resize_rule(node);
  const std::vector<ResizeAxis> axes = *resize_axes(node, rule, inputs);
  for (size_t d = 0; d < axes.size(); ++d) {
    const bool whole = std::ssize(left.inputs[0][d]) == from[d];
    if (!whole && !axes[d].is_identity(rule)) return std::nullopt;
  }
  Settings settings{node.attributes, {}};
  constexpr size_t kSizes = 3;
  if (inputs.size() <= kSizes || !inputs[kSizes].given) return settings;
  std::vector<int64_t> sizes = *require_list(inputs[kSizes]), named = node.integers("axes");
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t axis = named.empty() ? i : axis_in(named[i], from.rank());
    if (axes[axis].is_identity(rule)) sizes[i] = std::ssize(left.outputs[0][axis]);
  }
  settings.constants[kSizes] = list_like(inputs[kSizes], sizes);
  return settings;
}

}  // namespace

SHOAL_RECORD(resize) = {.name = "Resize",
                        .min_inputs = 1,
                        .max_inputs = 4,
                        .value_inputs = 0b1110,
                        .infer = infer_resize,
                        .reference = reference_resize,
                        .split = split_resize,
                        .shrink = shrink_resize,
                        .gradient = resize_gradient};

}  // namespace shoal::ops
