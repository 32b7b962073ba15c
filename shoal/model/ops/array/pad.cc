// Pad: adds elements before and after each axis, or removes them where a pad is negative. Modes:
// constant  0 0 | a b c d | 0 0      reflect  c b | a b c d | c b
// edge      a a | a b c d | d d      wrap     c d | a b c d | a b
// The gradient is in gradient_movement.cc. Only a constant border can be cut within a padded axis.
#include <algorithm>
#include <array>

#include "shoal/base/limits.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

Result<Mode> mode_of(const Node& node) {
  const std::string mode = node.text("mode", "constant");
  if (mode == "constant") return Mode::kConstant;
  if (mode == "reflect") return Mode::kReflect;
  if (mode == "edge") return Mode::kEdge;
  if (mode == "wrap") return Mode::kWrap;  // opset 19
  return invalid("unknown mode " + mode);
}

// The pads of one axis. Negative ones remove elements, which happens before others are added.
struct Pads {
  int64_t begin = 0, end = 0;

  bool none() const { return begin == 0 && end == 0; }
  int64_t kept(int64_t length) const {
    return length + std::min<int64_t>(begin, 0) + std::min<int64_t>(end, 0);
  }
};

// One per axis of the input. Input 3 (opset 18) names the axes of input 1; without it they are all
// axes. Each pad comes from a file and is bounded, so that sums of a few of them cannot overflow.
Result<std::vector<Pads>> pads_of(std::span<const Operand> inputs) {
  const size_t rank = inputs[0].type.shape.rank();
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (inputs.size() > 3 && inputs[3].given) {
    SHOAL_ASSIGN(axes, require_list(inputs[3]));
    SHOAL_TRY(require_axes(axes, rank).status());
  }
  SHOAL_ASSIGN(std::vector<int64_t> list, require_list(inputs[1]));
  if (list.size() != 2 * axes.size()) {
    return invalid(std::to_string(list.size()) + " pads for " + std::to_string(axes.size()) +
                   " axes, which take two each");
  }
  for (int64_t pad : list) {
    if (pad < -kLimits.max_dimension || pad > kLimits.max_dimension) {
      return invalid("pad " + std::to_string(pad) + " is out of range");
    }
  }
  std::vector<Pads> pads(rank);
  for (size_t i = 0; i < axes.size(); ++i) {
    pads[axis_in(axes[i], rank)] = {list[i], list[i + axes.size()]};
  }
  return pads;
}

Result<std::vector<TensorType>> infer_pad(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(Mode mode, mode_of(node));
  SHOAL_ASSIGN(std::vector<Pads> pads, pads_of(inputs));
  TensorType type = inputs[0].type;
  if (inputs.size() > 2 && inputs[2].given) {
    SHOAL_TRY(require_single(inputs[2]));
    SHOAL_TRY(require_same_type(std::array{inputs[0], inputs[2]}));
  }
  for (size_t d = 0; d < pads.size(); ++d) {
    const int64_t kept = pads[d].kept(type.shape[d]);
    if (kept < 0) return invalid("removes more than there is along axis " + std::to_string(d));
    type.shape[d] += pads[d].begin + pads[d].end;
    // The other modes repeat elements, so there must be one.
    if (kept == 0 && type.shape[d] > 0 && mode != Mode::kConstant) {
      return invalid("nothing to repeat along axis " + std::to_string(d));
    }
  }
  return std::vector{type};
}

// The element, in [0, n), that stands at position i of the axis, i < 0 or i >= n. Reflection has a
// period of 2 (n - 1), since it does not repeat the edge; pads longer than the axis go on with it.
int64_t source_of(Mode mode, int64_t i, int64_t n) {
  if (mode == Mode::kEdge || n == 1) return i < 0 ? 0 : n - 1;
  const int64_t period = mode == Mode::kWrap ? n : 2 * (n - 1);
  const int64_t at = (i % period + period) % period;
  return at < n ? at : period - at;
}

void reference_pad(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  constexpr std::array<std::byte, 8> kZero{};
  const bool given = inputs.size() > 2 && inputs[2].defined();
  const std::byte* const constant = given ? inputs[2].bytes().data() : kZero.data();
  const Mode mode = *mode_of(node);
  const std::vector<Pads> pads = *pads_of(operands_of(inputs));
  const Shape &from = inputs[0].shape(), &to = outputs[0].shape();
  ExtendedCopy copy(size_of(inputs[0].dtype()), from, to);
  while (copy.rest > 0 && pads[copy.rest - 1].none()) --copy.rest;
  const auto kept = [&](size_t axis) {
    return ExtendedCopy::Kept{std::max<int64_t>(-pads[axis].begin, 0),
                              std::max<int64_t>(pads[axis].begin, 0), pads[axis].kept(from[axis])};
  };
  const auto extend = [&](size_t axis, std::byte* y, size_t step) {
    const auto [skipped, before, count] = kept(axis);
    const auto pad_at = [&, begin = before, n = count](int64_t i) {
      std::byte* slice = y + static_cast<size_t>(i) * step;
      if (mode == Mode::kConstant) return fill({slice, step}, constant, copy.size);
      const int64_t source = begin + source_of(mode, i - begin, n);
      std::memcpy(slice, y + static_cast<size_t>(source) * step, step);
    };
    for (int64_t i = 0; i < before; ++i) pad_at(i);
    for (int64_t i = before + count; i < to[axis]; ++i) pad_at(i);
  };
  copy.run(0, inputs[0].bytes().data(), outputs[0].bytes().data(), kept, extend);
}

// The part of an axis that a tile reads, and the pads it gets there.
struct Cut {
  int64_t begin, end;
  Pads pads;
};

// For the part [begin, end) of an axis with a constant border.
Cut cut_of(int64_t length, const Pads& pads, int64_t begin, int64_t end) {
  const int64_t first = std::clamp<int64_t>(begin - pads.begin, 0, length);
  const int64_t last = std::clamp<int64_t>(end - pads.begin, 0, length);
  if (first == last) return {first, last, {end - begin, 0}};  // nothing but border
  return {first, last, {first - (begin - pads.begin), end - pads.begin - last}};
}

// A constant border can be cut anywhere. The other modes read from afar, so an axis that they pad
// stays whole.
std::optional<Tile> split_pad(const Node& node, std::span<const Operand> inputs,
                              const Region& output) {
  const Shape& from = inputs[0].type.shape;
  const size_t rank = from.rank();
  const std::vector<Pads> pads = *pads_of(inputs);
  const bool constant = *mode_of(node) == Mode::kConstant;
  Region read = output, written = output;
  std::vector<int64_t> list(2 * rank), axes(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (!constant && !pads[d].none()) {
      written.begin[d] = 0;
      written.end[d] = from[d] + pads[d].begin + pads[d].end;
    }
    const bool whole = written.shape()[d] == from[d] + pads[d].begin + pads[d].end;
    const Cut cut = whole ? Cut{0, from[d], pads[d]}
                          : cut_of(from[d], pads[d], written.begin[d], written.end[d]);
    read.begin[d] = cut.begin;
    read.end[d] = cut.end;
    list[d] = cut.pads.begin;
    list[rank + d] = cut.pads.end;
    axes[d] = static_cast<int64_t>(d);
  }
  Tile tile{{read}, written, node.attributes, {}};
  for (const Operand& input : inputs.subspan(1)) {
    tile.inputs.push_back(Region::whole(input.type.shape));
  }
  tile.constants[1] = list_of(list);
  if (inputs.size() > 3 && inputs[3].given) tile.constants[3] = list_of(axes);
  return tile;
}

// How many of the ascending indices lie in [begin, end).
int64_t count_in(std::span<const int64_t> indices, int64_t begin, int64_t end) {
  return std::ranges::lower_bound(indices, end) - std::ranges::lower_bound(indices, begin);
}

// Pads count the indices of the border that are left, negative ones those that they remove.
std::optional<Settings> shrink_pad(const Node& node, std::span<const Operand> inputs,
                                   const Remainder& left) {
  const Shape& from = inputs[0].type.shape;
  const std::vector<Pads> pads = *pads_of(inputs);
  std::vector<int64_t> begins, ends;
  for (size_t d = 0; d < from.rank(); ++d) {
    const auto [begin, end] = pads[d];
    const int64_t in = from[d], out = in + begin + end;
    const auto &read = left.inputs[0][d], &written = left.outputs[0][d];
    begins.push_back(begin >= 0 ? count_in(written, 0, begin) : -count_in(read, 0, -begin));
    ends.push_back(end >= 0 ? count_in(written, out - end, out) : -count_in(read, in + end, in));
  }
  // Input 3 may name fewer axes, in any order.
  std::vector<int64_t> axes;
  for (size_t d = 0; d < from.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  if (inputs.size() > 3 && inputs[3].given) axes = *require_list(inputs[3]);
  std::vector<int64_t> list;
  for (const auto& sides : {begins, ends}) {
    for (int64_t axis : axes) list.push_back(sides[axis_in(axis, from.rank())]);
  }
  return Settings{node.attributes, {{1, list_like(inputs[1], list)}}};
}

}  // namespace

SHOAL_RECORD(pad_) = {.name = "Pad",
                      .min_inputs = 2,
                      .max_inputs = 4,
                      .value_inputs = 1 << 1 | 1 << 3,
                      .infer = infer_pad,
                      .reference = reference_pad,
                      .split = split_pad,
                      .shrink = shrink_pad,
                      .linear = true,
                      .linear_time = true,
                      .gradient = pad_gradient};

}  // namespace shoal::ops
