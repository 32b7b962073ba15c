// Rules for layers between convolutions that can be computed in blocks as well: pools, sums,
// normalisations, element-wise functions. Most of them fit only if an input is blocked already: a
// layer that does little work per element is not worth a reorder, but keeping the layout avoids
// two.
#include <algorithm>
#include <cmath>

#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/engine/cpu/lower/lowering.h"
#include "shoal/model/ops/image/resize_axis.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/reduce/reduce.h"

namespace shoal::cpu {
namespace {

bool is_blocked(const Lowering& lowering, const Node& node) {
  return lowering.is_blocked(node.inputs[0]);
}

bool fits_pool(const Lowering& lowering, const Node& node) {
  return is_blocked(lowering, node) && node.outputs.size() == 1 &&
         node.integer("storage_order", 0) == 0;
}

// A pool in blocks is a pool of [n, c / b, h, w, b] over three spatial axes with a window of one
// along the last, so that the plain operator defines it.
Attributes pool_of_blocks(const Lowering& lowering, const Node& node) {
  Attributes attributes = node.attributes;
  for (const char* name : {"kernel_shape", "strides", "dilations"}) {
    std::vector<int64_t> list = node.integers(name);
    if (list.empty()) continue;
    list.push_back(1);
    attributes[name] = std::move(list);
  }
  if (const std::vector<int64_t> pads = node.integers("pads"); !pads.empty()) {
    attributes["pads"] = std::vector{pads[0], pads[1], int64_t{0}, pads[2], pads[3], int64_t{0}};
  }
  if (std::vector<int64_t> image = node.integers("image"); !image.empty()) {
    image.push_back(lowering.block());
    attributes["image"] = std::move(image);
  }
  return attributes;
}

Status lower_pool(Lowering& lowering, const Node& node) {
  SHOAL_ASSIGN(std::vector<ValueId> inputs, lowering.with_blocked_image(node));
  return lowering.add_blocked(node, *node.op, std::move(inputs), pool_of_blocks(lowering, node));
}

// The layer before a pool, and so the gradient that flows into it, is mostly blocked, even if dy is
// not.
bool fits_pool_backward(const Lowering& lowering, const Node& node) {
  const TensorType& dx = lowering.graph()[node.outputs[0]].type;
  return dx.dtype == DType::kF32 && dx.shape.rank() == kImageRank && dx.shape.count() > 0 &&
         2 * dx.shape[1] >= lowering.block() && node.integer("storage_order", 0) == 0;
}

Status lower_pool_backward(Lowering& lowering, const Node& node) {
  std::vector<ValueId> inputs;
  for (ValueId old : node.inputs) {
    SHOAL_ASSIGN(const ValueId id, lowering.blocked_of(old));
    inputs.push_back(id);
  }
  return lowering.add_blocked(node, *node.op, std::move(inputs), pool_of_blocks(lowering, node));
}

// Other exporters write a global pool as a mean over rows and columns.
bool fits_mean(const Lowering& lowering, const Node& node) {
  const auto& [dtype, x] = lowering.graph()[node.inputs[0]].type;
  if (!is_blocked(lowering, node) || dtype != DType::kF32) return false;
  const Shape pooled{x[0], x[1], 1, 1};
  return lowering.shape(node.outputs[0]) == pooled &&
         ops::kept_shape(node, lowering.graph().operands(node.inputs)) == pooled;
}

Status lower_global_pool(Lowering& lowering, const Node& node) {
  const Shape& x = lowering.shape(node.inputs[0]);
  SHOAL_ASSIGN(std::vector<ValueId> inputs, lowering.with_blocked_image(node));
  return lowering.add_blocked(node, ops::average_pool, std::move(inputs),
                              {{"kernel_shape", std::vector{x[2], x[3], int64_t{1}}}});
}

// The result has one pixel per channel and stays plain.
Status lower_quantized_global_pool(Lowering& lowering, const Node& node) {
  SHOAL_ASSIGN(std::vector<ValueId> inputs, lowering.with_blocked_image(node));
  return lowering.add_plain(node, blocked_q_linear_global_average_pool, std::move(inputs),
                            {{"channels", lowering.shape(node.inputs[0])[1]}});
}

// Other casts are mostly not of images, and integers have no fast kernel out of blocks.
bool fits_cast(const Lowering& lowering, const Node& node) {
  const auto is_bf16 = [&](ValueId id) { return lowering.graph()[id].type.dtype == DType::kBF16; };
  return is_blocked(lowering, node) && (is_bf16(node.inputs[0]) || is_bf16(node.outputs[0]));
}

// The operator does the same to every element, so that the layout does not matter.
Status lower_first_input(Lowering& lowering, const Node& node) {
  SHOAL_ASSIGN(std::vector<ValueId> inputs, lowering.with_blocked_image(node));
  return lowering.add_blocked(node, *node.op, std::move(inputs), node.attributes);
}

// In inference: Mul and Add, which join the chain around them.
bool fits_scaling(const Lowering& lowering, const Node& node) {
  return is_blocked(lowering, node) && scaling_of(lowering, node).has_value();
}

Status lower_scaling(Lowering& lowering, const Node& node) {
  const auto [scale, shift] = *scaling_of(lowering, node);
  const auto per_channel = [](const std::vector<double>& list) {
    Tensor tensor({DType::kF32, {std::ssize(list), 1, 1}});
    std::ranges::copy(list, tensor.data<float>().begin());
    return tensor;
  };
  const std::string& name = lowering.graph()[node.outputs[0]].name;
  SHOAL_ASSIGN(const ValueId image, lowering.blocked_of(node.inputs[0]));
  const ValueId factor = lowering.add_blocked_constant(name + ".scale", per_channel(scale));
  const ValueId addend = lowering.add_blocked_constant(name + ".shift", per_channel(shift));
  SHOAL_ASSIGN(const ValueId scaled, lowering.add(ops::mul, {image, factor}, {}));
  return lowering.add_blocked(node, ops::add, {scaled, addend}, {});
}

Status lower_instance_normalization(Lowering& lowering, const Node& node) {
  SHOAL_ASSIGN(std::vector<ValueId> inputs, lowering.with_blocked_image(node));
  return lowering.add_blocked(node, blocked_instance_normalization, std::move(inputs),
                              node.attributes);
}

// Worth a reorder by itself: several passes over all images.
bool fits_training_normalization(const Lowering& lowering, const Node& node) {
  const bool trains = node.op != &ops::batch_normalization || node.integer("training_mode", 0) != 0;
  const Shape& x = lowering.shape(node.inputs[0]);
  const bool floats = std::ranges::all_of(
      node.inputs, [&](ValueId id) { return lowering.graph()[id].type.dtype == DType::kF32; });
  return trains && floats && x.rank() == kImageRank && x.count() > 0 &&
         2 * x[1] >= lowering.block();
}

Status lower_training_normalization(Lowering& lowering, const Node& node) {
  std::vector<ValueId> inputs;
  for (ValueId old : node.inputs) {
    const bool image = lowering.shape(old).rank() == kImageRank;
    SHOAL_ASSIGN(const ValueId id, image ? lowering.blocked_of(old) : lowering.plain_of(old));
    inputs.push_back(id);
  }
  const Operator& op = node.op == &ops::batch_normalization ? blocked_batch_normalization
                                                            : blocked_batch_normalization_backward;
  return lowering.add_blocked(node, op, std::move(inputs), node.attributes);
}

bool fits_slice(const Lowering& lowering, const Node& node) {
  const std::vector<int64_t> axes = sliced_axes(lowering, node);
  return is_blocked(lowering, node) && !axes.empty() && std::ranges::find(axes, 1) == axes.end() &&
         lowering.shape(node.outputs[0]).count() > 0;
}

Status lower_slice(Lowering& lowering, const Node& node) {
  SHOAL_ASSIGN(std::vector<ValueId> inputs, lowering.with_blocked_image(node));
  const std::vector<int64_t> axes = sliced_axes(lowering, node);
  inputs[kSliceAxes] = lowering.add_constant(lowering.graph()[node.outputs[0]].name + ".axes",
                                             Tensor::of<int64_t>({std::ssize(axes)}, axes));
  return lowering.add_blocked(node, ops::slice, std::move(inputs), node.attributes);
}

// Rows and columns are resized; the kernel does not mind that channels come after them. Where no
// one wants the larger image in blocks, the smaller one leaves them.
bool fits_resize(const Lowering& lowering, const Node& node) {
  const auto& [dtype, shape] = lowering.graph()[node.inputs[0]].type;
  const bool grows = lowering.shape(node.outputs[0]).count() > shape.count();
  if (!is_blocked(lowering, node) || dtype != DType::kF32 ||
      (grows && !lowering.is_wanted_blocked(node.outputs[0]))) {
    return false;
  }
  const ops::ResizeRule rule = *ops::resize_rule(node);
  const auto axes = *ops::resize_axes(node, rule, lowering.graph().operands(node.inputs));
  // Regions of interest and ratios concern all axes at once.
  return rule.coordinates != ops::ResizeRule::Coordinates::kTfCropAndResize &&
         !node.has("keep_aspect_ratio_policy") && axes[0].is_identity(rule) &&
         axes[1].is_identity(rule) && lowering.shape(node.outputs[0]).count() > 0;
}

// Names rows and columns as the only axes, and gives their sizes, or scales where the sizes were
// rounded.
Status lower_resize(Lowering& lowering, const Node& node) {
  const Shape& x = lowering.shape(node.inputs[0]);
  auto axes =
      *ops::resize_axes(node, *ops::resize_rule(node), lowering.graph().operands(node.inputs));
  const ops::ResizeAxis rows = axes[2], columns = axes[3];
  const auto is_exact = [](const ops::ResizeAxis& axis) {
    return axis.length == static_cast<double>(axis.out);
  };
  const auto scale = [](const ops::ResizeAxis& axis) {
    return static_cast<float>(axis.length / static_cast<double>(axis.in));
  };
  const bool sized = is_exact(rows) && is_exact(columns);
  const Tensor to = sized ? Tensor::of<int64_t>({2}, {rows.out, columns.out})
                          : Tensor::of<float>({2}, {scale(rows), scale(columns)});
  const ValueId constant =
      lowering.add_constant(lowering.graph()[node.outputs[0]].name + ".size", to);
  // A node may compute a part of a larger image; it has all of the channels that it is given.
  const auto whole = [](int64_t size) {
    return ops::ResizeAxis{.in = size, .out = size, .in_end = size, .out_end = size};
  };
  axes[1] = whole(blocked_shape(x, lowering.block())[1]);
  axes.push_back(whole(lowering.block()));
  Attributes attributes = ops::resize_tile(node, axes);
  attributes["axes"] = std::vector<int64_t>{2, 3};
  SHOAL_ASSIGN(const ValueId image, lowering.blocked_of(node.inputs[0]));
  std::vector<ValueId> inputs{image, kNoValue, sized ? kNoValue : constant};
  if (sized) inputs.push_back(constant);
  return lowering.add_blocked(node, ops::resize, std::move(inputs), std::move(attributes));
}

bool is_scalar(const Shape& shape) { return shape.count() == 1 && shape.rank() <= 1; }

// Operands that broadcast in blocks as they do in the plain layout: as large as y, one element per
// channel, or a single element.
bool fits_operand(const Lowering& lowering, ValueId id, const Shape& y) {
  if (id == kNoValue) return true;
  const Shape& x = lowering.shape(id);
  if (is_scalar(x) || x == y) return true;
  if (x.rank() == kImageRank) {
    return (x[0] == 1 || x[0] == y[0]) && x[1] == y[1] && x[2] == 1 && x[3] == 1;
  }
  return lowering.graph()[id].constant && x == Shape{y[1], 1, 1};
}

bool fits_elementwise(const Lowering& lowering, const Node& node) {
  const Shape& y = lowering.shape(node.outputs[0]);
  return y.rank() == kImageRank &&
         std::ranges::any_of(node.inputs, [&](ValueId id) { return lowering.is_blocked(id); }) &&
         std::ranges::all_of(node.inputs,
                             [&](ValueId id) { return fits_operand(lowering, id, y); });
}

// Bytes of one scale, which is finite: those that fill up a block become finite floats.
bool fits_one_scale(const Lowering& lowering, const Node& node) {
  const Operand scale = lowering.graph().operands(node.inputs)[1];
  return scale.value != nullptr && scale.type.dtype == DType::kF32 &&
         scale.type.shape.count() == 1 && std::isfinite(scale.value->data<float>()[0]) &&
         fits_elementwise(lowering, node);
}

// If no reader wants blocked floats, bytes are unblocked instead, which are a quarter as long.
bool fits_dequantize(const Lowering& lowering, const Node& node) {
  return fits_one_scale(lowering, node) && lowering.is_wanted_blocked(node.outputs[0]);
}

Status lower_elementwise(Lowering& lowering, const Node& node) {
  std::vector<ValueId> inputs;
  for (ValueId old : node.inputs) {
    const bool plain = old == kNoValue || is_scalar(lowering.shape(old));
    SHOAL_ASSIGN(const ValueId id, plain ? lowering.plain_of(old) : lowering.blocked_of(old));
    inputs.push_back(id);
  }
  return lowering.add_blocked(node, *node.op, std::move(inputs), node.attributes);
}

std::vector<LoweringRule> collect() {
  std::vector<LoweringRule> rules = {
      {&ops::max_pool, fits_pool, lower_pool},
      {&ops::average_pool, fits_pool, lower_pool},
      {&ops::max_pool_backward, fits_pool_backward, lower_pool_backward},
      {&ops::average_pool_backward, fits_pool_backward, lower_pool_backward},
      {&ops::global_average_pool, is_blocked, lower_global_pool},
      {&ops::reduce_mean, fits_mean, lower_global_pool},
      {&ops::q_linear_global_average_pool, is_blocked, lower_quantized_global_pool},
      {&ops::batch_normalization, fits_training_normalization, lower_training_normalization},
      {&ops::batch_normalization, fits_scaling, lower_scaling},
      {&ops::batch_normalization_backward, fits_training_normalization,
       lower_training_normalization},
      {&ops::instance_normalization, is_blocked, lower_instance_normalization},
      {&ops::resize, fits_resize, lower_resize},
      {&ops::slice, fits_slice, lower_slice},
      {&ops::lookup, is_blocked, lower_first_input},
      {&ops::cast, fits_cast, lower_first_input},
      {&ops::q_linear_add, fits_elementwise, lower_elementwise},
      {&ops::dequantize_linear, fits_dequantize, lower_elementwise},
      {&ops::quantize_linear, fits_one_scale, lower_elementwise},
  };
  // Channels that fill up a block are zero, or were computed from zeros. They must stay finite,
  // because later layers multiply them by weights of zero: functions like log or 1 / x are not
  // allowed.
  for (const Operator* op : ops::all()) {
    if (op->elementwise.finite) rules.push_back({op, fits_elementwise, lower_elementwise});
  }
  return rules;
}

}  // namespace

std::optional<ops::ChannelScaling> scaling_of(const Lowering& lowering, const Node& node) {
  const std::vector<Operand> inputs = lowering.graph().operands(node.inputs);
  const bool floats = std::ranges::all_of(
      inputs, [](const Operand& input) { return !input.given || input.type.dtype == DType::kF32; });
  return floats ? ops::channel_scaling_of(node, inputs) : std::nullopt;
}

std::span<const LoweringRule> layer_rules() {
  static const std::vector<LoweringRule> rules = collect();
  return rules;
}

}  // namespace shoal::cpu
