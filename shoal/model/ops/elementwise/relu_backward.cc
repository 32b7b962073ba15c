// ReluBackward, our own operator: dx = y > 0 ? dy : 0, where y is the output of Relu. Reading y
// instead of x lets Relu run in place. Both inputs are read where the output is written, so it
// splits like any element-wise operator.
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// Inputs are y and dy.
Result<std::vector<TensorType>> infer_relu_backward(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  if (inputs[0].type != inputs[1].type) {
    return invalid("the output is " + to_string(inputs[0].type) + ", its gradient " +
                   to_string(inputs[1].type));
  }
  return std::vector{inputs[0].type};
}

void reference_relu_backward(const Node&, std::span<const Tensor> inputs,
                             std::span<Tensor> outputs) {
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    std::ranges::transform(
        inputs[0].data<T>(), inputs[1].data<T>(), outputs[0].data<T>().begin(),
        [](T y, T dy) { return static_cast<Compute<T>>(y) > 0 ? dy : static_cast<T>(0); });
  });
}

std::optional<Tile> split_relu_backward(const Node& node, std::span<const Operand>,
                                        const Region& output) {
  return Tile{{output, output}, output, node.attributes, {}};
}

Result<std::vector<ValueId>> expand_node(const Node&, std::span<const ValueId> inputs,
                                         Graph& graph) {
  Chain chain(graph, inputs[0]);
  const ValueId above = chain.add(greater, {inputs[0], chain.scalar(0)});
  return chain.finish({chain.only_where(above, inputs[1])});
}

}  // namespace

SHOAL_RECORD(relu_backward) = {.name = "ReluBackward",
                               .min_inputs = 2,
                               .max_inputs = 2,
                               .infer = infer_relu_backward,
                               .reference = reference_relu_backward,
                               .split = split_relu_backward,
                               .elementwise = {.operands = 2, .finite = true},
                               .in_place = true,
                               .expand = expand_node};

}  // namespace shoal::ops
