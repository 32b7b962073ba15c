#include <algorithm>
#include <numeric>
#include <set>

#include "shoal/engine/cpu/lower/lowering.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

// A plane by the image that has it, in the upper half, and by its place there.
constexpr int kImageShift = 32;
int64_t number_of(ValueId image, int64_t place) {
  return (static_cast<int64_t>(image) << kImageShift) + place;
}
ValueId image_of(int64_t number) { return static_cast<ValueId>(number >> kImageShift); }
int64_t place_of(int64_t number) { return number & ((int64_t{1} << kImageShift) - 1); }

// Axes of a shape that are not part of a plane of `plane` elements; nullopt if planes are broken.
std::optional<Shape> outer_axes(const Shape& shape, int64_t plane) {
  size_t rank = shape.rank();
  while (rank > 0 && shape.count(rank, shape.rank()) < plane) --rank;
  if (shape.count(rank, shape.rank()) != plane) return std::nullopt;
  return Shape(std::span(shape.begin(), rank));
}

std::optional<std::vector<Planes>> reshaped(const Planes& planes, const Shape& shape) {
  const auto outer = outer_axes(shape, planes.size);
  if (!outer || outer->count() != planes.numbers.count()) return std::nullopt;
  return std::vector{Planes{planes.numbers.reshaped(*outer), planes.size}};
}

std::vector<int64_t> transposed_axes(const Node& node, size_t rank) {
  const std::vector<int64_t> perm = node.integers("perm");
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) {
    const auto axis = static_cast<int64_t>(d);
    if (perm.empty() || perm[d] != axis) axes.push_back(axis);  // without `perm`, all are reversed
  }
  return axes;
}

// The axes that a node works on, none of them negative; empty if they are not known.
std::vector<int64_t> axes_of(const Lowering& lowering, const Node& node) {
  const size_t rank = lowering.shape(node.inputs[0]).rank();
  if (node.op == &ops::transpose) return transposed_axes(node, rank);
  if (node.op == &ops::slice) return sliced_axes(lowering, node);
  return {static_cast<int64_t>(ops::axis_in(node.integer("axis", 0), rank))};
}

// The node on numbers of planes. They have fewer axes, from which negative ones count differently.
Node node_on_numbers(const Node& node, const std::vector<int64_t>& axes, size_t rank) {
  Node made{node.op, node.inputs, node.outputs, node.attributes, node.name};
  if (node.op == &ops::transpose) {
    std::vector<int64_t> perm = node.integers("perm");
    perm.resize(rank);
    made.attributes["perm"] = std::move(perm);
  } else if (node.op != &ops::slice) {
    made.attributes["axis"] = axes[0];
  }
  return made;
}

// The inputs of that node: numbers of planes, and constants as they are.
std::optional<std::vector<Tensor>> inputs_of(const Lowering& lowering, const Node& node,
                                             const Planes& first,
                                             const std::vector<int64_t>& axes) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (i == 0 || node.op == &ops::concat) {
      const auto planes = lowering.planes_of(id);
      if (!planes || planes->size != first.size ||
          planes->numbers.shape().rank() != first.numbers.shape().rank()) {
        return std::nullopt;
      }
      inputs.push_back(planes->numbers);
    } else if (id == kNoValue) {
      inputs.emplace_back();
    } else if (lowering.graph()[id].constant) {
      inputs.push_back(*lowering.graph()[id].constant);
    } else {
      return std::nullopt;
    }
  }
  if (node.op == &ops::slice) {
    inputs[kSliceAxes] = Tensor::of<int64_t>({std::ssize(axes)}, axes);
  }
  return inputs;
}

bool fits(const Lowering& lowering, const Node& node) {
  return moved_planes(lowering, node).has_value();
}

size_t count_images(const Lowering& lowering, const Node& node) {
  std::set<ValueId> images;
  for (ValueId id : node.inputs) {
    const auto planes = lowering.planes_of(id);
    if (!planes) continue;
    for (int64_t number : planes->numbers.data<int64_t>()) images.insert(image_of(number));
  }
  return images.size();
}

// Each unit of a network that shuffles takes planes from all units before it. What it does not
// touch is moved all the same once there are several of them: their images need not be kept.
Status lower(Lowering& lowering, const Node& node) {
  constexpr size_t kMostImages = 4;
  auto planes = moved_planes(lowering, node);
  if (node.op == &ops::concat && count_images(lowering, node) > kMostImages) {
    for (ValueId id : node.inputs) {
      if (lowering.is_blocked(id)) SHOAL_TRY(lowering.blocked_of(id).status());
    }
    if (auto fewer = moved_planes(lowering, node)) planes = std::move(fewer);
  }
  for (size_t i = 0; i < planes->size(); ++i) {
    lowering.set_planes(node, node.outputs[i], std::move((*planes)[i]));
  }
  return {};
}

}  // namespace

std::vector<int64_t> sliced_axes(const Lowering& lowering, const Node& node) {
  if (node.inputs.size() <= kSliceAxes || node.inputs[kSliceAxes] == kNoValue) return {};
  const auto& constant = lowering.graph()[node.inputs[kSliceAxes]].constant;
  if (!constant) return {};
  const Tensor list = ops::converted(*constant, DType::kI64);
  std::vector<int64_t> axes;
  for (int64_t axis : list.data<int64_t>()) {
    const size_t rank = lowering.shape(node.inputs[0]).rank();
    axes.push_back(static_cast<int64_t>(ops::axis_in(axis, rank)));
  }
  return axes;
}

Planes planes_of_image(ValueId image, const Shape& shape) {
  Tensor numbers({DType::kI64, {shape[0], shape[1]}});
  std::iota(numbers.data<int64_t>().begin(), numbers.data<int64_t>().end(), number_of(image, 0));
  return {std::move(numbers), shape[2] * shape[3]};
}

std::optional<std::vector<Planes>> moved_planes(const Lowering& lowering, const Node& node) {
  const auto first = lowering.planes_of(node.inputs[0]);
  if (!first) return std::nullopt;
  constexpr const Operator* kReshapes[] = {&ops::reshape, &ops::flatten, &ops::squeeze,
                                           &ops::unsqueeze};
  if (std::ranges::find(kReshapes, node.op) != std::end(kReshapes)) {
    return reshaped(*first, lowering.shape(node.outputs[0]));
  }
  const size_t rank = first->numbers.shape().rank();
  const std::vector<int64_t> axes = axes_of(lowering, node);
  const auto is_inside_planes = [&](int64_t axis) { return axis >= static_cast<int64_t>(rank); };
  if (axes.empty() || std::ranges::any_of(axes, is_inside_planes)) return std::nullopt;
  const auto inputs = inputs_of(lowering, node, *first, axes);
  if (!inputs) return std::nullopt;
  const Node moves = node_on_numbers(node, axes, rank);
  const auto types = node.op->infer(moves, ops::operands_of(*inputs));
  if (!types.ok()) return std::nullopt;
  std::vector<Tensor> outputs(types->begin(), types->end());
  if (std::ranges::any_of(outputs, [](const Tensor& t) { return t.count() == 0; })) {
    return std::nullopt;
  }
  node.op->reference(moves, *inputs, outputs);
  std::vector<Planes> moved;
  for (Tensor& numbers : outputs) moved.push_back({std::move(numbers), first->size});
  return moved;
}

std::optional<Selection> selection_of(const Lowering& lowering, const Planes& planes,
                                      const Shape& shape) {
  const auto numbers = planes.numbers.data<int64_t>();
  Selection selection;
  std::vector<int64_t> begin;  // of the channels of each image among those of all
  int64_t total = 0;
  if (shape.rank() != kImageRank || shape[0] * shape[1] != planes.numbers.count()) return {};
  const auto channels = static_cast<size_t>(shape[1]);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const ValueId image = image_of(numbers[i]);
    const Shape& from = lowering.shape(image);
    auto known = std::ranges::find(selection.images, image);
    if (known == selection.images.end()) {
      if (from[0] != shape[0] || from[2] != shape[2] || from[3] != shape[3]) return {};
      known = selection.images.insert(known, image);
      selection.channels.push_back(from[1]);
      begin.push_back(std::exchange(total, total + from[1]));
    }
    const int64_t place = place_of(numbers[i]);
    const int64_t channel =
        begin[static_cast<size_t>(known - selection.images.begin())] + place % from[1];
    if (place / from[1] != static_cast<int64_t>(i / channels)) return {};
    if (i < channels) selection.from.push_back(channel);
    if (selection.from[i % channels] != channel) return {};
  }
  return selection;
}

std::span<const LoweringRule> plane_rules() {
  static const LoweringRule kRules[] = {
      {&ops::concat, fits, lower},  {&ops::split_, fits, lower},    {&ops::slice, fits, lower},
      {&ops::gather, fits, lower},  {&ops::transpose, fits, lower}, {&ops::reshape, fits, lower},
      {&ops::flatten, fits, lower}, {&ops::squeeze, fits, lower},   {&ops::unsqueeze, fits, lower},
  };
  return kRules;
}

}  // namespace shoal::cpu
