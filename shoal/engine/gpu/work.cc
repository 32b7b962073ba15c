#include "shoal/engine/gpu/work.h"

#include <algorithm>
#include <limits>

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::gpu {
namespace {

Result<std::vector<TensorType>> infer(const Node&, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const Shape shape, ops::broadcast(inputs));
  return std::vector{TensorType{DType::kF32, shape}};
}

void reference(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<Tensor> equal{Tensor({DType::kBool, outputs[0].shape()})};
  ops::equal.reference(Node{&ops::equal, {}, {}, {}, {}}, inputs, equal);
  std::ranges::copy(equal[0].data<bool>(), outputs[0].data<float>().begin());
}

bool is_int(const Graph& graph, ValueId id) {
  const DType dtype = graph[id].type.dtype;
  return dtype == DType::kI64 || dtype == DType::kI32;
}

bool is_output(const Graph& graph, ValueId id) {
  return std::ranges::find(graph.outputs(), id) != graph.outputs().end();
}

// Whether f is true of all readers of a value, which is no output of the graph.
template <class F>
bool all_readers(const Graph& graph, ValueId id, const F& f) {
  if (is_output(graph, id)) return false;
  return std::ranges::all_of(graph.nodes(), [&](const Node& node) {
    return std::ranges::find(node.inputs, id) == node.inputs.end() || f(node);
  });
}

bool is_float_cast(const Graph& graph, const Node& node) {
  return node.op == &ops::cast && graph[node.outputs[0]].type.dtype == DType::kF32;
}

// An Equal of integers whose answer is only wanted as a float.
bool is_mask(const Graph& graph, const Node& node) {
  return node.op == &ops::equal && is_int(graph, node.inputs[0]) &&
         all_readers(graph, node.outputs[0],
                     [&](const Node& reader) { return is_float_cast(graph, reader); });
}

const Node* mask_of(const Graph& graph, const Node& node) {
  if (!is_float_cast(graph, node)) return nullptr;
  for (const Node& maker : graph.nodes()) {
    if (std::ranges::find(maker.outputs, node.inputs[0]) == maker.outputs.end()) continue;
    return is_mask(graph, maker) ? &maker : nullptr;
  }
  return nullptr;
}

// The node that stands for a Cast(Equal), in a separate graph.
bool has_work(const Graph& graph, const Node& mask, const Capabilities& device) {
  Graph alone;
  std::vector<ValueId> inputs;
  for (ValueId id : mask.inputs) inputs.push_back(alone.add_input("x", graph[id].type));
  const auto made = alone.add(equal_as_float, inputs);
  return made.ok() && work_of(alone, alone.nodes()[0], device).has_value();
}

}  // namespace

SHOAL_RECORD(equal_as_float) = {.name = "EqualAsFloat",
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .infer = infer,
                                .reference = reference};

Result<Graph> lowered(const Graph& graph) {
  passes::Rewriter rewriter(graph);
  bool has_masks = false;
  for (const Node& node : graph.nodes()) {
    if (is_mask(graph, node)) continue;
    const Node* mask = mask_of(graph, node);
    if (mask == nullptr) {
      SHOAL_TRY(rewriter.copy(node));
      continue;
    }
    has_masks = true;
    SHOAL_ASSIGN(const ValueId id, rewriter.to().add(equal_as_float, rewriter.map(mask->inputs)));
    rewriter.replace(node.outputs[0], id);
  }
  if (!has_masks) return cpu::chain_elementwise(graph);
  SHOAL_ASSIGN(const Graph floats, rewriter.finish());
  return cpu::chain_elementwise(floats);
}

bool supports(const Graph& graph, const Node& node, const Capabilities& device) {
  if (node.op == &ops::equal) return is_mask(graph, node) && has_work(graph, node, device);
  if (const Node* mask = mask_of(graph, node)) return has_work(graph, *mask, device);
  // Integers are moved for the sake of a mask only: other devices have what else reads them.
  const bool is_moved = !node.inputs.empty() && node.inputs[0] != kNoValue &&
                        is_int(graph, node.outputs[0]) && is_int(graph, node.inputs[0]);
  if (is_moved && !all_readers(graph, node.outputs[0], [&](const Node& reader) {
        return reader.op == &ops::equal && supports(graph, reader, device);
      })) {
    return false;
  }
  return work_of(graph, node, device).has_value();
}

namespace {

struct Entry {
  const Operator* op;
  MakeWork make;
};

const Entry kEntries[] = {
    {&cpu::elementwise_chain, make_chain},
    {&ops::attention, make_attention},
    {&equal_as_float, make_equal_as_float},
    {&ops::average_pool, make_pool},
    {&ops::average_pool_backward, make_average_pool_backward},
    {&ops::batch_normalization, make_batch_normalization},
    {&ops::batch_normalization_backward, make_batch_normalization_backward},
    {&ops::cast, make_cast},
    {&ops::concat, make_concat},
    {&ops::conv, make_conv},
    {&ops::conv_transpose, make_conv},
    {&ops::conv_weights_backward, make_conv_weights},
    {&ops::dropout, make_reshape},
    {&ops::expand, make_expand},
    {&ops::flatten, make_reshape},
    {&ops::fused_conv, make_conv},
    {&ops::fused_conv_transpose, make_conv},
    {&ops::fused_gemm, make_gemm},
    {&ops::fused_mat_mul, make_mat_mul},
    {&ops::gemm, make_gemm},
    {&ops::global_average_pool, make_global_pool},
    {&ops::global_max_pool, make_global_pool},
    {&ops::identity, make_reshape},
    {&ops::layer_normalization, make_layer_normalization},
    {&ops::log_softmax, make_softmax},
    {&ops::mat_mul, make_mat_mul},
    {&ops::max_pool, make_pool},
    {&ops::max_pool_backward, make_max_pool_backward},
    {&ops::one_hot, make_one_hot},
    {&ops::pad_, make_pad},
    {&ops::reduce_max, make_reduce},
    {&ops::reduce_mean, make_reduce},
    {&ops::reduce_min, make_reduce},
    {&ops::reduce_sum, make_reduce},
    {&ops::reduce_sum_square, make_reduce},
    {&ops::reshape, make_reshape},
    {&ops::resize, make_resize},
    {&ops::rms_normalization, make_layer_normalization},
    {&ops::slice, make_slice},
    {&ops::softmax, make_softmax},
    {&ops::softmax_cross_entropy_loss, make_softmax_cross_entropy},
    {&ops::split_, make_split},
    {&ops::squeeze, make_reshape},
    {&ops::transpose, make_transpose},
    {&ops::unsqueeze, make_reshape},
};

MakeWork maker_of(const Operator* op) {
  const auto match = std::ranges::find(kEntries, op, &Entry::op);
  if (match != std::end(kEntries)) return match->make;
  if (is_unary(op)) return make_unary;
  return is_binary(op) ? make_nary : nullptr;
}

bool fits(const Operator* op, const TensorType& type, const Capabilities& device) {
  const int64_t count = type.shape.count();
  const bool is_float =
      type.dtype == DType::kF32 || (op == &ops::cast && type.dtype == DType::kBF16);
  return is_float && count > 0 && count <= most_elements(device);
}

// Indices of elements or classes, which kernels read as ints.
bool is_index(const Operator* op, size_t input) {
  if (op == &equal_as_float || op == &ops::softmax_cross_entropy_loss) {
    return op == &equal_as_float || input == 1;
  }
  return op == &ops::one_hot && input == 0;
}

bool fits_as_index(const TensorType& type, const Capabilities& device) {
  const int64_t count = type.shape.count();
  return (type.dtype == DType::kI64 || type.dtype == DType::kI32) && count > 0 &&
         count <= most_elements(device) / 2;
}

// Grids are limited along the axes but the first.
bool is_possible(const Launch& launch, const Capabilities& device) {
  constexpr int64_t kMostGroups = 65'535;
  return std::ssize(launch.arguments) <= device.max_arguments && launch.groups[1] <= kMostGroups &&
         launch.groups[2] <= kMostGroups;
}

// What a node reads as numbers of its description: lists of axes, shapes, and bounds.
bool is_setting(const Node& node, size_t input) {
  return node.op->reads_value(input) ||
         (node.op->elementwise.f32 != nullptr && input >= node.op->elementwise.operands) ||
         ((node.op == &ops::dropout || node.op == &ops::pad_) && input > 0);
}

}  // namespace

int64_t room_bytes(int64_t memory_bytes, int64_t largest_buffer) {
  constexpr int64_t kShare = 8;
  return std::min(memory_bytes / kShare, largest_buffer);
}

// The largest index that is computed is a little above the count.
int64_t most_elements(const Capabilities& device) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2, kBytes = sizeof(float);
  return std::min(kMost, device.max_argument_bytes / kBytes);
}

bool is_layer(const Operator* op) {
  const MakeWork make = maker_of(op);
  return make == make_conv || make == make_gemm || make == make_mat_mul;
}

bool has_choices(const Operator* op) { return is_layer(op) || maker_of(op) == make_conv_weights; }

std::optional<Work> work_of(const Graph& graph, const Node& node, const Capabilities& device,
                            bool in_half, size_t rank) {
  const MakeWork make = maker_of(node.op);
  if (make == nullptr || (rank > 0 && !has_choices(node.op))) return std::nullopt;
  const NodeSpec spec{graph,   node, graph.operands(node.inputs), graph.types(node.outputs), device,
                      in_half, rank};
  const bool is_renaming = make == make_reshape;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const Operand& input = spec.inputs[i];
    if (!input.given) continue;
    const bool may_be_index = is_index(node.op, i) || (is_renaming && i == 0);
    const bool is_known = is_setting(node, i)
                              ? input.value != nullptr
                              : (fits(node.op, input.type, device) && !is_index(node.op, i)) ||
                                    (may_be_index && fits_as_index(input.type, device));
    if (!is_known) return std::nullopt;
  }
  const auto fits_here = [&](const TensorType& type) {
    return fits(node.op, type, device) || (is_renaming && fits_as_index(type, device));
  };
  if (!std::ranges::all_of(spec.outputs, fits_here)) return std::nullopt;
  std::optional<Work> work = make(spec);
  if (!work || work->scratch > most_elements(device)) return std::nullopt;
  const auto can_launch = [&](const Launch& launch) { return is_possible(launch, device); };
  if (!std::ranges::all_of(work->launches, can_launch)) return std::nullopt;
  return work;
}

}  // namespace shoal::gpu
