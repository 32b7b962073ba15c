#include <algorithm>

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/gpu/work.h"
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

// Whether f is true of all nodes that read a value, and nobody else does.
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

// The node that stands for a Cast(Equal), in a graph of its own.
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

}  // namespace shoal::gpu
