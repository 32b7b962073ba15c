// Gradients of reductions: every element along the reduced axes receives dy times the derivative of
// the result by that element.
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/reduce/reduce.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

// y and dy in the shape that they have with keepdims, so that they stretch to x.
class Reduction : public Chain {
 public:
  Reduction(const Node& node, std::span<const ValueId> outputs, Graph& graph)
      : Chain(graph, node.inputs[0]), x(node.inputs[0]), inputs_(node.inputs.size()) {
    const Shape kept = kept_shape(node, graph.operands(node.inputs));
    y = reshape(node.outputs[0], kept);
    dy = reshape(outputs[0], kept);
    count = kept.count() == 0 ? 0 : shape_of(x).count() / kept.count();
  }

  Gradients dx(ValueId value) const {
    std::vector<ValueId> gradients(inputs_, kNoValue);
    gradients[0] = value;
    return finish(std::move(gradients));
  }

  ValueId x, y, dy;
  int64_t count;  // elements of x that become one

 private:
  size_t inputs_;
};

}  // namespace

Gradients reduce_sum_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Reduction r(node, outputs, graph);
  return r.dx(r.stretch_to(r.dy, r.shape_of(r.x)));
}

Gradients reduce_mean_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Reduction r(node, outputs, graph);
  const ValueId share = r.add(div, {r.dy, r.scalar(static_cast<double>(r.count))});
  return r.dx(r.stretch_to(share, r.shape_of(r.x)));
}

// d|x|/dx = sign(x)
Gradients reduce_l1_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Reduction r(node, outputs, graph);
  return r.dx(r.add(mul, {r.add(sign, {r.x}), r.dy}));
}

// y = sqrt(sum x^2): dx = dy x / y. Where all x are 0 there is no derivative; 0 is chosen.
Gradients reduce_l2_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Reduction r(node, outputs, graph);
  const ValueId is_zero = r.add(equal, {r.y, r.scalar(0)});
  const ValueId share = r.add(where, {is_zero, r.scalar(0), r.add(div, {r.dy, r.y})});
  return r.dx(r.add(mul, {r.x, share}));
}

Gradients reduce_sum_square_gradient(const Node& node, std::span<const ValueId> outputs,
                                     Graph& graph) {
  Reduction r(node, outputs, graph);
  return r.dx(r.add(mul, {r.x, r.add(mul, {r.dy, r.scalar(2)})}));
}

// y = log(s), s = sum x: dx = dy / s, where s = exp(y).
Gradients reduce_log_sum_gradient(const Node& node, std::span<const ValueId> outputs,
                                  Graph& graph) {
  Reduction r(node, outputs, graph);
  const ValueId share = r.add(div, {r.dy, r.add(exp, {r.y})});
  return r.dx(r.stretch_to(share, r.shape_of(r.x)));
}

// y = log(sum exp(x)): dx = dy exp(x - y), the softmax of x.
Gradients reduce_log_sum_exp_gradient(const Node& node, std::span<const ValueId> outputs,
                                      Graph& graph) {
  Reduction r(node, outputs, graph);
  return r.dx(r.add(mul, {r.add(exp, {r.add(sub, {r.x, r.y})}), r.dy}));
}

// The derivative is the product of all other elements, which is y / x, unless there is a zero. With
// one zero only the zero has a derivative other than 0, with two zeros none has.
Gradients reduce_prod_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Reduction r(node, outputs, graph);
  const ValueId is_zero = r.add(equal, {r.x, r.scalar(0)});
  const ValueId others = r.add(where, {is_zero, r.scalar(1), r.x});
  const ValueId zeros = r.sum_to(r.cast(is_zero), r.shape_of(r.y));
  Attributes kept = node.attributes;
  kept["keepdims"] = int64_t{1};
  const ValueId product = r.add(mul, {r.add(reduce_prod, {others}, std::move(kept)), r.dy});
  const ValueId of_rest = r.add(div, {product, others});
  const ValueId needed = r.add(where, {is_zero, r.scalar(1), r.scalar(0)});
  return r.dx(r.only_where(r.add(equal, {zeros, needed}), of_rest));
}

// Max and Min: dy goes to the chosen element; elements that tie share it equally.
Gradients reduce_extremum_gradient(const Node& node, std::span<const ValueId> outputs,
                                   Graph& graph) {
  Reduction r(node, outputs, graph);
  const ValueId chosen = r.cast(r.add(equal, {r.x, r.y}));
  const ValueId ties = r.sum_to(chosen, r.shape_of(r.y));
  return r.dx(r.add(mul, {chosen, r.add(div, {r.dy, ties})}));
}

}  // namespace shoal::ops
