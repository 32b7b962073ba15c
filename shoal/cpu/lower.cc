#include "shoal/cpu/lower.h"

#include <algorithm>
#include <array>

#include "shoal/cpu/blocked.h"
#include "shoal/cpu/blocked_quantized.h"
#include "shoal/cpu/byte_tile.h"
#include "shoal/cpu/phases.h"
#include "shoal/cpu/quantized_site.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr size_t kRank = 4;  // of an image: only those are blocked
constexpr size_t kWeights = 1, kResidual = 3;

// An image of so few channels is read as it is: filling up a block would be most of the work.
constexpr int64_t kFewChannels = 4;

// Functions of single elements. They must give something finite for the channels that fill up a
// block, whose elements are zero or came from zero that way.
constexpr std::array kElementwise = {
    &ops::relu,       &ops::leaky_relu, &ops::clip, &ops::sigmoid, &ops::tanh,  &ops::hard_sigmoid,
    &ops::hard_swish, &ops::swish,      &ops::gelu, &ops::abs,     &ops::neg,   &ops::add,
    &ops::sub,        &ops::mul,        &ops::max,  &ops::min,     &ops::prelu, &ops::q_linear_add,
};

bool is_elementwise(const Operator* op) {
  return std::ranges::find(kElementwise, op) != kElementwise.end();
}

// Kernels copy padded images. Where nearly all of one would be padding, as a file may ask for, the
// copy could be of any size.
bool has_moderate_padding(const ops::Convolution& conv) {
  constexpr int64_t kMost = 1024;
  return std::ranges::all_of(conv.window.axes, [](const ops::WindowAxis& axis) {
    const int64_t padded = (axis.output - 1) * axis.stride + axis.extent();
    return padded <= axis.input + kMost;
  });
}

class Lowering {
 public:
  Lowering(const Graph& from, int64_t block)
      : from_(from), block_(block), copies_(from.value_count()) {}

  Result<Graph> run() {
    for (ValueId id : from_.inputs()) {
      copy_of(id).plain = to_.add_input(from_[id].name, from_[id].type);
    }
    for (const Node& node : from_.nodes()) SHOAL_TRY(lower(node));
    for (ValueId id : from_.outputs()) {
      SHOAL_ASSIGN(const ValueId plain, plain_of(id));
      to_.mark_output(plain);
    }
    return std::move(to_);
  }

 private:
  // What stands for a value of the old graph: in one form, or in both.
  struct Copies {
    ValueId plain = kNoValue;
    ValueId blocked = kNoValue;
  };

  Copies& copy_of(ValueId id) { return copies_[static_cast<size_t>(id)]; }
  const Shape& shape(ValueId id) const { return from_[id].type.shape; }
  bool is_blocked(ValueId id) { return id != kNoValue && copy_of(id).blocked != kNoValue; }

  Result<ValueId> plain_of(ValueId id) {
    if (id == kNoValue) return id;
    Copies& copy = copy_of(id);
    if (copy.plain != kNoValue) return copy.plain;
    const Value& value = from_[id];
    if (value.constant) {
      copy.plain = to_.add_constant(value.name, *value.constant);
    } else {
      SHOAL_ASSIGN(copy.plain, to_.add(unblock_channels, {copy.blocked},
                                       {{"channels", value.type.shape[1]}}, value.name));
    }
    return copy.plain;
  }

  Result<ValueId> blocked_of(ValueId id) {
    if (id == kNoValue) return id;
    Copies& copy = copy_of(id);
    if (copy.blocked != kNoValue) return copy.blocked;
    if (from_[id].constant) {
      copy.blocked = to_.add_constant(blocked_name(id), blocked_constant(*from_[id].constant));
    } else {
      SHOAL_ASSIGN(const ValueId plain, plain_of(id));
      SHOAL_ASSIGN(copy.blocked,
                   to_.add(block_channels, {plain}, {{"block", block_}}, blocked_name(id)));
    }
    return copy.blocked;
  }

  std::string blocked_name(ValueId id) const { return from_[id].name + ".blocked"; }

  // Of a factor or addend per channel, [c,1,1] or of four axes.
  Tensor blocked_constant(const Tensor& plain) const {
    const Shape& s = plain.shape();
    const Tensor x = s.rank() == kRank ? plain : plain.reshaped({1, s[0], s[1], s[2]});
    Tensor y({x.dtype(), blocked_shape(x.shape(), block_)});
    block_channels.reference({}, std::span(&x, 1), std::span(&y, 1));
    return y;
  }

  Status lower(const Node& node) {
    if (node.op == &ops::conv || node.op == &ops::fused_conv) {
      if (is_worth_blocking(node)) return lower_conv(node, blocked_conv, kResidual);
    } else if (node.op == &ops::conv_transpose || node.op == &ops::fused_conv_transpose) {
      if (is_worth_blocking_transposed(node)) {
        return lower_conv(node, blocked_conv_transpose, kResidual);
      }
    } else if (node.op == &ops::q_linear_conv || node.op == &ops::fused_q_linear_conv) {
      if (can_block_quantized(node)) {
        return lower_conv(node, blocked_q_linear_conv, QConvInputs::kResidual);
      }
    } else if (node.op == &ops::max_pool || node.op == &ops::average_pool) {
      if (can_pool(node)) return lower_pool(node);
    } else if (node.op == &ops::global_average_pool) {
      if (is_blocked(node.inputs[0])) return lower_global_pool(node);
    } else if (node.op == &ops::q_linear_global_average_pool) {
      if (is_blocked(node.inputs[0])) return lower_quantized_global_pool(node);
    } else if (node.op == &ops::lookup) {
      if (is_blocked(node.inputs[0])) return lower_lookup(node);
    } else if (node.op == &ops::concat) {
      if (can_concatenate(node)) return lower_concat(node);
    } else if (is_elementwise(node.op)) {
      if (can_compute_elementwise(node)) return lower_elementwise(node);
    }
    return copy(node);
  }

  Status copy(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      SHOAL_ASSIGN(const ValueId plain, plain_of(id));
      inputs.push_back(plain);
    }
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(from_[id].name);
    SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                 to_.add_node(*node.op, std::move(inputs), node.attributes, names, node.name));
    for (size_t i = 0; i < outputs.size(); ++i) copy_of(node.outputs[i]).plain = outputs[i];
    return {};
  }

  // A node whose one output is blocked.
  Status add_blocked(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                     Attributes attributes) {
    SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                 to_.add_node(op, std::move(inputs), std::move(attributes),
                              {blocked_name(node.outputs[0])}, node.name));
    copy_of(node.outputs[0]).blocked = outputs[0];
    return {};
  }

  // An image of floats, and weights that are constant.
  bool has_image_and_weights(const Node& node) const {
    const TensorType& x = from_[node.inputs[0]].type;
    return x.dtype == DType::kF32 && x.shape.rank() == kRank && x.shape.count() > 0 &&
           from_[node.inputs[kWeights]].constant;
  }

  bool is_worth_blocking(const Node& node) const {
    if (!has_image_and_weights(node)) return false;
    const ops::Convolution conv =
        ops::convolution_of(node, shape(node.inputs[0]), shape(node.inputs[kWeights]));
    const bool depthwise = conv.in_channels == 1 && conv.out_channels == 1;
    if (conv.groups > 1 && !depthwise) return false;
    const int64_t channels = conv.groups * conv.out_channels;
    const int64_t computed = (channels + block_ - 1) / block_ * block_;
    // One pixel is a product with a vector, which reads the weights where they are.
    return conv.output_plane() > 1 && computed <= 2 * channels && conv.output_shape().count() > 0 &&
           has_moderate_padding(conv);
  }

  // Phases compute all of a block, and sums that meet the padding only. A product computes what the
  // output does not show.
  bool is_worth_blocking_transposed(const Node& node) const {
    if (!has_image_and_weights(node) || node.integer("group", 1) != 1) return false;
    const ops::Convolution conv =
        ops::transposed_convolution_of(node, shape(node.inputs[0]), shape(node.inputs[kWeights]));
    const int64_t computed = (conv.in_channels + block_ - 1) / block_ * block_;
    constexpr double kScatter = 2;  // a product of plain channels, and what it is summed up with
    return conv.in_channels > 0 && macs_in_phases(conv, static_cast<double>(computed)) <=
                                       kScatter * static_cast<double>(ops::count_macs(conv));
  }

  // Nothing else computes in bytes as fast, however few the channels and pixels are.
  bool can_block_quantized(const Node& node) const {
    const std::vector<Operand> inputs = from_.operands(node.inputs);
    const Shape& x = inputs[QConvInputs::kX].type.shape;
    if (x.rank() != kRank || block_ % kGroup != 0 || !has_plain_weights(inputs)) return false;
    const ops::Convolution conv = ops::convolution_of(node, x, inputs[QConvInputs::kW].type.shape);
    const bool depthwise = conv.in_channels == 1 && conv.out_channels == 1;
    return (conv.groups == 1 || depthwise) && conv.output_shape().count() > 0 &&
           conv.in_channels > 0 && has_moderate_padding(conv);
  }

  Status lower_conv(const Node& node, const Operator& op, size_t residual) {
    Attributes attributes = node.attributes;
    attributes["block"] = block_;
    const bool as_it_is = &op != &blocked_conv_transpose && !is_blocked(node.inputs[0]) &&
                          shape(node.inputs[0])[1] <= kFewChannels && node.integer("group", 1) == 1;
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool image = (i == 0 && !as_it_is) || i == residual;
      SHOAL_ASSIGN(const ValueId id, image ? blocked_of(node.inputs[i]) : plain_of(node.inputs[i]));
      inputs.push_back(id);
    }
    return add_blocked(node, op, std::move(inputs), std::move(attributes));
  }

  bool can_pool(const Node& node) {
    return is_blocked(node.inputs[0]) && node.outputs.size() == 1 &&
           node.integer("storage_order", 0) == 0;
  }

  // The channels of a block become a third spatial axis, on which the window is one wide.
  Status lower_pool(const Node& node) {
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
    return add_blocked(node, *node.op, {copy_of(node.inputs[0]).blocked}, std::move(attributes));
  }

  Status lower_global_pool(const Node& node) {
    const Shape& x = shape(node.inputs[0]);
    return add_blocked(node, ops::average_pool, {copy_of(node.inputs[0]).blocked},
                       {{"kernel_shape", std::vector{x[2], x[3], int64_t{1}}}});
  }

  // One pixel per channel, which needs no blocks.
  Status lower_quantized_global_pool(const Node& node) {
    SHOAL_ASSIGN(const std::vector<ValueId> inputs, with_blocked_image(node));
    SHOAL_ASSIGN(copy_of(node.outputs[0]).plain,
                 to_.add(blocked_q_linear_global_average_pool, inputs,
                         {{"channels", shape(node.inputs[0])[1]}}, from_[node.outputs[0]].name));
    return {};
  }

  Status lower_lookup(const Node& node) {
    SHOAL_ASSIGN(std::vector<ValueId> inputs, with_blocked_image(node));
    return add_blocked(node, *node.op, std::move(inputs), node.attributes);
  }

  // The first input in blocks, the others as they are.
  Result<std::vector<ValueId>> with_blocked_image(const Node& node) {
    std::vector<ValueId> inputs{copy_of(node.inputs[0]).blocked};
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      SHOAL_ASSIGN(const ValueId id, plain_of(node.inputs[i]));
      inputs.push_back(id);
    }
    return inputs;
  }

  // Blocks follow each other only where all of them are full.
  bool can_concatenate(const Node& node) {
    const int64_t axis = node.integer("axis", 0);
    return (axis == 1 || axis == 1 - static_cast<int64_t>(kRank)) &&
           std::ranges::all_of(node.inputs, [&](ValueId id) {
             return is_blocked(id) && shape(id)[1] % block_ == 0;
           });
  }

  Status lower_concat(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(copy_of(id).blocked);
    return add_blocked(node, ops::concat, std::move(inputs), {{"axis", int64_t{1}}});
  }

  bool is_scalar(ValueId id) const { return shape(id).count() == 1 && shape(id).rank() <= 1; }

  // As large as y in every axis, or one element per channel, or one element at all.
  bool fits(ValueId id, const Shape& y) const {
    const Shape& x = shape(id);
    if (is_scalar(id) || x == y) return true;
    if (x.rank() == kRank)
      return x[0] == 1 || x[0] == y[0] ? x[1] == y[1] && x[2] == 1 && x[3] == 1 : false;
    return from_[id].constant && x.rank() == kRank - 1 && x == Shape{y[1], 1, 1};
  }

  bool can_compute_elementwise(const Node& node) {
    const Shape& y = shape(node.outputs[0]);
    return y.rank() == kRank &&
           std::ranges::any_of(node.inputs, [&](ValueId id) { return is_blocked(id); }) &&
           std::ranges::all_of(node.inputs,
                               [&](ValueId id) { return id == kNoValue || fits(id, y); });
  }

  Status lower_elementwise(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId old : node.inputs) {
      const bool plain = old == kNoValue || is_scalar(old);
      SHOAL_ASSIGN(const ValueId id, plain ? plain_of(old) : blocked_of(old));
      inputs.push_back(id);
    }
    return add_blocked(node, *node.op, std::move(inputs), node.attributes);
  }

  const Graph& from_;
  const int64_t block_;
  Graph to_;
  std::vector<Copies> copies_;
};

}  // namespace

Result<Graph> lower(const Graph& graph, int64_t block) { return Lowering(graph, block).run(); }

}  // namespace shoal::cpu
