// Slice: y_i = x[start + i step] along some axes, up to before `end`. Negative positions count from
// the end, and positions out of range are clamped, as in Python. Steps may be negative, not 0. The
// gradient is in gradient_movement.cc.
#include "shoal/model/ops/array/slice.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The cut of one axis: the elements start + i * step for i < count.
struct Cut {
  int64_t start, step, count;
};

// A position counted from the end if negative, within [low, high]. A length is added only to a
// negative number, so the sum cannot overflow whatever the file says.
int64_t clamped(int64_t position, int64_t length, int64_t low, int64_t high) {
  return std::clamp(position < 0 ? position + length : position, low, high);
}

// Going backwards, -1 is the position before the first element. A file spells it as a number below
// -length, usually the smallest integer.
Cut cut_of(int64_t length, int64_t start, int64_t end, int64_t step) {
  if (length == 0) return {0, step, 0};
  if (step > 0) {
    start = clamped(start, length, 0, length);
    end = clamped(end, length, 0, length);
    return {start, step, end <= start ? 0 : (end - start - 1) / step + 1};
  }
  start = clamped(start, length, 0, length - 1);
  end = clamped(end, length, -1, length - 1);
  return {start, step, start <= end ? 0 : -((start - end - 1) / step) + 1};
}

Result<std::vector<int64_t>> optional_list(std::span<const Operand> inputs, size_t index,
                                           std::vector<int64_t> fallback) {
  if (inputs.size() <= index || !inputs[index].given) return fallback;
  return require_list(inputs[index]);
}

// The inputs after the first one, as they were given: one number per axis that is cut.
struct Lists {
  std::vector<int64_t> starts, ends, axes, steps;
};
Result<Lists> lists_of(std::span<const Operand> inputs) {
  Lists lists;
  SHOAL_ASSIGN(lists.starts, require_list(inputs[1]));
  SHOAL_ASSIGN(lists.ends, require_list(inputs[2]));
  const size_t count = lists.starts.size();
  std::vector<int64_t> first_axes(count), ones(count, 1);
  std::iota(first_axes.begin(), first_axes.end(), int64_t{0});
  SHOAL_ASSIGN(lists.axes, optional_list(inputs, 3, std::move(first_axes)));
  SHOAL_ASSIGN(lists.steps, optional_list(inputs, 4, std::move(ones)));
  if (lists.ends.size() != count || lists.axes.size() != count || lists.steps.size() != count) {
    return invalid("starts, ends, axes and steps differ in length");
  }
  SHOAL_TRY(require_axes(lists.axes, inputs[0].type.shape.rank()).status());
  return lists;
}

// One cut per axis of the input.
Result<std::vector<Cut>> cuts_of(std::span<const Operand> inputs) {
  const Shape& shape = inputs[0].type.shape;
  SHOAL_ASSIGN(const Lists lists, lists_of(inputs));
  std::vector<Cut> cuts;
  for (int64_t dim : shape) cuts.push_back({0, 1, dim});
  for (size_t i = 0; i < lists.axes.size(); ++i) {
    if (lists.steps[i] == 0) return invalid("a step is 0");
    const size_t axis = axis_in(lists.axes[i], shape.rank());
    cuts[axis] = cut_of(shape[axis], lists.starts[i], lists.ends[i], lists.steps[i]);
  }
  return cuts;
}

Result<std::vector<TensorType>> infer_slice(const Node&, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(std::vector<Cut> cuts, cuts_of(inputs));
  TensorType type = inputs[0].type;
  for (size_t d = 0; d < cuts.size(); ++d) type.shape[d] = cuts[d].count;
  return std::vector{type};
}

}  // namespace

SliceSource slice_source(std::span<const Operand> inputs) {
  const std::vector<Cut> cuts = *cuts_of(inputs);
  SliceSource source{0, strides_of(inputs[0].type.shape)};
  for (size_t d = 0; d < cuts.size(); ++d) {
    source.first += cuts[d].start * source.strides[d];
    // The step of a single element is never taken, and may be too large to multiply.
    source.strides[d] *= cuts[d].count == 1 ? 0 : cuts[d].step;
  }
  return source;
}

namespace {

void reference_slice(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  if (shape.count() == 0) return;
  const SliceSource source = slice_source(operands_of(inputs));
  const size_t size = size_of(inputs[0].dtype());
  copy_strided(
      shape, size,
      {inputs[0].bytes().data() + source.first * static_cast<int64_t>(size), source.strides},
      {outputs[0].bytes().data(), strides_of(shape)});
}

// The tile reads the range from its first element to its last, so in that range it starts at one
// end and stops at the other. Axes and steps are then given for every axis.
std::optional<Tile> split_slice(const Node& node, std::span<const Operand> inputs,
                                const Region& output) {
  const std::vector<Cut> cuts = *cuts_of(inputs);
  Region read = output;
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t d = 0; d < cuts.size(); ++d) {
    const auto [start, step, count] = cuts[d];
    const int64_t first = start + output.begin[d] * step;
    const int64_t last = start + (output.end[d] - 1) * step;
    read.begin[d] = std::min(first, last);
    read.end[d] = std::max(first, last) + 1;
    starts.push_back(step > 0 ? 0 : -1);
    ends.push_back(step > 0 ? std::numeric_limits<int64_t>::max()
                            : std::numeric_limits<int64_t>::min());
    axes.push_back(static_cast<int64_t>(d));
    steps.push_back(step);
  }
  Tile tile{{read}, output, node.attributes, {}};
  const std::array lists = {starts, ends, axes, steps};
  for (size_t i = 1; i < inputs.size(); ++i) {
    tile.inputs.push_back(Region::whole(inputs[i].type.shape));
    if (inputs[i].given) tile.constants[i] = list_of(lists[i - 1]);
  }
  return tile;
}

// The bounds of the elements at these positions, ascending or descending by equal steps; nothing if
// the steps differ.
struct Bounds {
  int64_t start, end, step;
};
std::optional<Bounds> bounds_of(std::span<const int64_t> positions, int64_t step) {
  if (positions.size() > 1) step = positions[1] - positions[0];
  for (size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] - positions[i - 1] != step) return std::nullopt;
  }
  const int64_t end = positions.back() + (step > 0 ? 1 : -1);
  return Bounds{positions[0], end < 0 ? std::numeric_limits<int64_t>::min() : end, step};
}

// The places, among the indices that are left of the input, of those that are read for the indices
// that are left of the output; nullopt if one of them is gone.
std::optional<std::vector<int64_t>> places_of(const Cut& cut, std::span<const int64_t> read,
                                              std::span<const int64_t> written) {
  std::vector<int64_t> places;
  for (int64_t i : written) {
    const auto found = std::ranges::lower_bound(read, cut.start + i * cut.step);
    if (found == read.end() || *found != cut.start + i * cut.step) return std::nullopt;
    places.push_back(found - read.begin());
  }
  return places;
}

std::optional<Settings> shrink_slice(const Node& node, std::span<const Operand> inputs,
                                     const Remainder& left) {
  const std::vector<Cut> cuts = *cuts_of(inputs);
  Lists lists = *lists_of(inputs);
  for (size_t i = 0; i < lists.axes.size(); ++i) {
    const size_t axis = axis_in(lists.axes[i], cuts.size());
    const auto places = places_of(cuts[axis], left.inputs[0][axis], left.outputs[0][axis]);
    if (!places || places->empty()) return std::nullopt;
    const auto bounds = bounds_of(*places, lists.steps[i] > 0 ? 1 : -1);
    if (!bounds) return std::nullopt;
    lists.starts[i] = bounds->start;
    lists.ends[i] = bounds->end;
    lists.steps[i] = bounds->step;
  }
  Settings settings{node.attributes, {}};
  settings.constants[1] = list_like(inputs[1], lists.starts);
  settings.constants[2] = list_like(inputs[2], lists.ends);
  // Without steps all of them were 1, and neighbours stay neighbours.
  if (inputs.size() > 4 && inputs[4].given) {
    settings.constants[4] = list_like(inputs[4], lists.steps);
  }
  return settings;
}

}  // namespace

SHOAL_RECORD(slice) = {.name = "Slice",
                       .min_inputs = 3,
                       .max_inputs = 5,
                       .value_inputs = 0b11110,
                       .infer = infer_slice,
                       .reference = reference_slice,
                       .split = split_slice,
                       .shrink = shrink_slice,
                       .linear = true,
                       .linear_time = true,
                       .gradient = slice_gradient};

}  // namespace shoal::ops
