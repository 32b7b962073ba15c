// An axis that two opposite corners of the output both read whole is contracted, if the output does
// not notice that it has become shorter.
#include "shoal/model/ops/contraction.h"

#include <algorithm>
#include <vector>

namespace shoal::ops {
namespace {

Region one_element(const Shape& shape, bool last) {
  Region region = Region::whole(shape);
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (last) region.begin[d] = shape[d] - 1;
    region.end[d] = region.begin[d] + 1;
  }
  return region;
}

// Axes of more than one element that `read` covers.
std::vector<size_t> whole_axes(const Shape& shape, const Region& read) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] > 1 && read.begin[d] == 0 && read.end[d] == shape[d]) axes.push_back(d);
  }
  return axes;
}

std::vector<size_t> common(std::vector<size_t> a, const std::vector<size_t>& b) {
  std::erase_if(a, [&](size_t axis) { return std::ranges::find(b, axis) == b.end(); });
  return a;
}

// Whether the output keeps its type when only one element of the contracted axis is left.
bool keeps_type(const Node& node, std::span<const Operand> inputs, const TensorType& output,
                const Contraction& along) {
  std::vector<Operand> fewer(inputs.begin(), inputs.end());
  fewer[0].type.shape[along.axis] = 1;
  fewer[1].type.shape[along.weight_axis] = 1;
  const auto types = infer(node, fewer);
  return types.ok() && types->front() == output;
}

}  // namespace

std::optional<Contraction> contraction_of(const Node& node, std::span<const Operand> inputs) {
  if (!node.op->linear || node.op->split == nullptr || inputs.size() < 2) return std::nullopt;
  if (!inputs[0].given || !inputs[1].given || node.op->reads_value(1)) return std::nullopt;
  // A third input must be an optional one: a bias, which all terms but the first leave out.
  if (inputs.size() > 3 || (inputs.size() > 2 && node.op->min_inputs + 1 != node.op->max_inputs)) {
    return std::nullopt;
  }
  const auto types = infer(node, inputs);
  if (!types.ok() || types->front().shape.count() == 0) return std::nullopt;
  const TensorType& output = types->front();
  // Two opposite corners of the output: an axis that both read whole is contracted, not merely
  // covered by a window at one end.
  const auto first = node.op->split(node, inputs, one_element(output.shape, false));
  const auto last = node.op->split(node, inputs, one_element(output.shape, true));
  if (!first || !last) return std::nullopt;
  const auto axes_of = [&](size_t input) {
    const Shape& shape = inputs[input].type.shape;
    return common(whole_axes(shape, first->inputs[input]), whole_axes(shape, last->inputs[input]));
  };
  for (size_t axis : axes_of(0)) {
    for (size_t weight_axis : axes_of(1)) {
      const Contraction along{axis, weight_axis, inputs[0].type.shape[axis]};
      if (inputs[1].type.shape[weight_axis] != along.length) continue;
      if (keeps_type(node, inputs, output, along)) return along;
    }
  }
  return std::nullopt;
}

}  // namespace shoal::ops
