// The functions that make the work of each family of operators. work.cc has the table of them.
#pragma once

#include <span>

#include "shoal/engine/gpu/work.h"

namespace shoal::gpu {

// A node and its context. Inputs that are given, other than lists and scalars that
// `Operator::reads_value` names and indices, are f32 and not empty; so are the outputs. Those of a
// Cast may be bf16.
struct NodeSpec {
  const Graph& graph;
  const Node& node;
  std::vector<Operand> inputs;
  std::vector<TensorType> outputs;
  const Capabilities& device;
  bool in_half = false;
  size_t rank = 0;  // among the ways to compute it: 0 is the best by its cost

  bool has(size_t input) const { return input < inputs.size() && inputs[input].given; }
  const Shape& shape(size_t input) const { return inputs[input].type.shape; }
  const Shape& output(size_t index = 0) const { return outputs[index].shape; }
};

using MakeWork = std::optional<Work> (*)(const NodeSpec& spec);

std::optional<Work> make_unary(const NodeSpec& spec);
std::optional<Work> make_nary(const NodeSpec& spec);
std::optional<Work> make_chain(const NodeSpec& spec);
std::optional<Work> make_cast(const NodeSpec& spec);
std::optional<Work> make_batch_normalization(const NodeSpec& spec);
std::optional<Work> make_batch_normalization_backward(const NodeSpec& spec);
std::optional<Work> make_reshape(const NodeSpec& spec);
std::optional<Work> make_transpose(const NodeSpec& spec);
std::optional<Work> make_concat(const NodeSpec& spec);
std::optional<Work> make_split(const NodeSpec& spec);
std::optional<Work> make_slice(const NodeSpec& spec);
std::optional<Work> make_expand(const NodeSpec& spec);
std::optional<Work> make_pad(const NodeSpec& spec);
std::optional<Work> make_resize(const NodeSpec& spec);
std::optional<Work> make_reduce(const NodeSpec& spec);
std::optional<Work> make_global_pool(const NodeSpec& spec);
std::optional<Work> make_softmax(const NodeSpec& spec);
std::optional<Work> make_layer_normalization(const NodeSpec& spec);
std::optional<Work> make_softmax_cross_entropy(const NodeSpec& spec);
std::optional<Work> make_equal_as_float(const NodeSpec& spec);
std::optional<Work> make_one_hot(const NodeSpec& spec);
std::optional<Work> make_pool(const NodeSpec& spec);
std::optional<Work> make_max_pool_backward(const NodeSpec& spec);
std::optional<Work> make_average_pool_backward(const NodeSpec& spec);
std::optional<Work> make_conv(const NodeSpec& spec);
std::optional<Work> make_conv_weights(const NodeSpec& spec);
std::optional<Work> make_mat_mul(const NodeSpec& spec);
std::optional<Work> make_gemm(const NodeSpec& spec);
std::optional<Work> make_attention(const NodeSpec& spec);

}  // namespace shoal::gpu
