// Gradients of operators that put elements in places known only at run time: dy is gathered from
// there. TopK and CumSum belong here as well.
#include <numeric>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

// The updates that survive, as booleans. Of several to one place, only the last has an effect: it
// is the one that gets its own number back when numbers are scattered and gathered.
ValueId is_last(Chain& chain, const Node& node, const Operator& gather,
                const Attributes& attributes) {
  const Shape data = chain.shape_of(node.inputs[0]), updates = chain.shape_of(node.inputs[2]);
  Tensor numbers({DType::kI64, updates});
  std::iota(numbers.data<int64_t>().begin(), numbers.data<int64_t>().end(), 0);
  const ValueId own = chain.constant(numbers);
  const ValueId nobody =
      chain.add(expand, {chain.constant(Tensor::of<int64_t>({}, {-1})), chain.list(data)});
  const ValueId there = chain.add(*node.op, {nobody, node.inputs[1], own}, node.attributes);
  return chain.add(equal, {chain.add(gather, {there, node.inputs[1]}, attributes), own});
}

// With "add" both inputs keep dy. With "none" the data lose it where they are overwritten, and the
// updates receive it if they survive.
Gradients scatter_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph,
                           const Operator& gather, const Attributes& attributes) {
  Chain chain(graph, node.inputs[0]);
  const std::string reduction = node.text("reduction", "none");
  const ValueId taken = chain.add(gather, {outputs[0], node.inputs[1]}, attributes);
  // The data are copied unchanged and every update is added once, so neither needs a mask.
  if (reduction == "add") return chain.finish({outputs[0], kNoValue, taken});
  if (reduction != "none") {
    return Status(Code::kUnsupported,
                  std::string(node.op->name) + " has no gradient with reduction " + reduction);
  }
  const ValueId zeros = chain.zeros(chain.shape_of(node.inputs[2]));
  const ValueId rest = chain.add(*node.op, {outputs[0], node.inputs[1], zeros}, node.attributes);
  return chain.finish(
      {rest, kNoValue, chain.only_where(is_last(chain, node, gather, attributes), taken)});
}

}  // namespace

Gradients scatter_elements_gradient(const Node& node, std::span<const ValueId> outputs,
                                    Graph& graph) {
  return scatter_gradient(node, outputs, graph, gather_elements,
                          {{"axis", node.integer("axis", 0)}});
}

Gradients scatter_nd_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  return scatter_gradient(node, outputs, graph, gather_nd, {});
}

// The chosen positions are output 1; a node without it is run once more for them.
Gradients top_k_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId indices = node.outputs.size() > 1
                              ? node.outputs[1]
                              : chain.add_all(top_k, node.inputs, node.attributes, 2)[1];
  const ValueId dx = chain.add(scatter_elements,
                               {chain.zeros(chain.shape_of(node.inputs[0])), indices, outputs[0]},
                               {{"axis", node.integer("axis", -1)}});
  return chain.finish({dx, kNoValue});
}

// An element is part of all sums from it on, so its gradient is the sum of those, from the other
// end.
Gradients cum_sum_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  Attributes attributes = node.attributes;
  attributes["reverse"] = int64_t{node.integer("reverse", 0) == 0};
  return chain.finish(
      {chain.add(cum_sum, {outputs[0], node.inputs[1]}, std::move(attributes)), kNoValue});
}

}  // namespace shoal::ops
