// Gradients of y = f(x), element by element: dx = dy f'(x). Each f' is written in terms of x or y,
// whichever takes fewer nodes. At a kink every slope between those of the two sides is a
// subgradient; these take one of the two.
#include <cmath>
#include <numbers>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/elementwise/elementwise.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

// A formula under construction, with names short enough that a gradient reads like its equation.
class Formula : public Chain {
 public:
  Formula(const Node& at, std::span<const ValueId> outputs, Graph& graph)
      : Chain(graph, at.inputs[0]),
        alpha(attribute_of(at, at.op->elementwise.parameters[0])),
        beta(attribute_of(at, at.op->elementwise.parameters[1])),
        x(at.inputs[0]),
        y(at.outputs[0]),
        dy(outputs[0]) {}

  ValueId plus(ValueId a, double b) { return add(ops::add, {a, scalar(b)}); }
  ValueId times(ValueId a, ValueId b) { return add(mul, {a, b}); }
  ValueId times(ValueId a, double b) { return b == 1 ? a : times(a, scalar(b)); }
  ValueId over(ValueId a, ValueId b) { return add(div, {a, b}); }
  ValueId square(ValueId a) { return times(a, a); }
  ValueId minus_from(double a, ValueId b) { return add(sub, {scalar(a), b}); }
  ValueId apply(const Operator& f, ValueId a) { return add(f, {a}); }
  ValueId above(ValueId a, double b) { return add(greater, {a, scalar(b)}); }
  ValueId choose(ValueId condition, ValueId a, ValueId b) { return add(where, {condition, a, b}); }

  Gradients dx(ValueId value) const { return finish({value}); }

  const double alpha, beta;  // the parameters of f
  ValueId x, y, dy;
};

}  // namespace

Gradients abs_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.apply(sign, f.x)));
}

// -1 / sqrt(1 - x^2)
Gradients acos_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  const ValueId root = f.apply(sqrt, f.minus_from(1, f.square(f.x)));
  return f.dx(f.apply(neg, f.over(f.dy, root)));
}

// 1 / sqrt(x^2 - 1)
Gradients acosh_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.over(f.dy, f.apply(sqrt, f.plus(f.square(f.x), -1))));
}

// 1 / sqrt(1 - x^2)
Gradients asin_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.over(f.dy, f.apply(sqrt, f.minus_from(1, f.square(f.x)))));
}

// 1 / sqrt(x^2 + 1)
Gradients asinh_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.over(f.dy, f.apply(sqrt, f.plus(f.square(f.x), 1))));
}

// 1 / (x^2 + 1)
Gradients atan_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.over(f.dy, f.plus(f.square(f.x), 1)));
}

// 1 / (1 - x^2)
Gradients atanh_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.over(f.dy, f.minus_from(1, f.square(f.x))));
}

Gradients cos_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.apply(neg, f.times(f.dy, f.apply(sin, f.x))));
}

Gradients cosh_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.apply(sinh, f.x)));
}

// 2 / sqrt(pi) * exp(-x^2)
Gradients erf_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  const ValueId bell = f.apply(exp, f.apply(neg, f.square(f.x)));
  return f.dx(f.times(f.times(f.dy, bell), 2 * std::numbers::inv_sqrtpi));
}

Gradients exp_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.y));
}

Gradients identity_gradient(const Node&, std::span<const ValueId> outputs, Graph&) {
  return std::vector{outputs[0]};
}

Gradients log_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.over(f.dy, f.x));
}

Gradients neg_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.apply(neg, f.dy));
}

// -1 / x^2 = -y^2
Gradients reciprocal_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.apply(neg, f.times(f.dy, f.square(f.y))));
}

Gradients sin_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.apply(cos, f.x)));
}

Gradients sinh_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.apply(cosh, f.x)));
}

// 1 / (2 y)
Gradients sqrt_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.over(f.dy, f.times(f.y, 2)));
}

// 1 + tan(x)^2
Gradients tan_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.plus(f.square(f.y), 1)));
}

// 1 - tanh(x)^2
Gradients tanh_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.minus_from(1, f.square(f.y))));
}

Gradients step_gradient(const Node&, std::span<const ValueId>, Graph&) {
  return std::vector{kNoValue};
}

// Below zero y = alpha * (exp(x / alpha) - 1), so the slope there is y / alpha + 1.
Gradients celu_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  const ValueId slope = f.plus(f.times(f.y, 1 / f.alpha), 1);
  return f.dx(f.choose(f.above(f.x, 0), f.dy, f.times(f.dy, slope)));
}

// Below zero y = alpha * (exp(x) - 1), so the slope there is y + alpha.
Gradients elu_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  const ValueId slope = f.plus(f.y, f.alpha);
  return f.dx(f.choose(f.above(f.x, 0), f.dy, f.times(f.dy, slope)));
}

// Below zero y = gamma * alpha * (exp(x) - 1), so the slope there is y + gamma * alpha.
Gradients selu_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  const double gamma = f.beta;
  const ValueId slope = f.choose(f.above(f.x, 0), f.scalar(gamma), f.plus(f.y, f.alpha * gamma));
  return f.dx(f.times(f.dy, slope));
}

Gradients hard_sigmoid_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  const ValueId bent = f.add(and_, {f.above(f.y, 0), f.add(less, {f.y, f.scalar(1)})});
  return f.dx(f.times(f.only_where(bent, f.dy), f.alpha));
}

// Between -3 and 3 y = x (x / 6 + 1/2), so the slope there is x / 3 + 1/2.
Gradients hard_swish_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  const ValueId slope = f.plus(f.times(f.x, 1.0 / 3), 0.5);
  const ValueId below = f.choose(f.above(f.x, -3), f.times(f.dy, slope), f.scalar(0));
  return f.dx(f.choose(f.above(f.x, 3), f.dy, below));
}

Gradients leaky_relu_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  const ValueId small = f.times(f.dy, f.alpha);
  return f.dx(f.choose(f.above(f.x, 0), f.dy, small));
}

// One node instead of a comparison and a Where: see elementwise/relu_backward.cc.
Gradients relu_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.add(relu_backward, {f.y, f.dy}));
}

// y (1 - y)
Gradients sigmoid_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.times(f.y, f.minus_from(1, f.y))));
}

Gradients softplus_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.times(f.dy, f.apply(sigmoid, f.x)));
}

// 1 / (1 + |x|)^2
Gradients softsign_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.over(f.dy, f.square(f.plus(f.apply(abs, f.x), 1))));
}

Gradients shrink_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.only_where(f.above(f.apply(abs, f.x), f.alpha), f.dy));
}

Gradients thresholded_relu_gradient(const Node& node, std::span<const ValueId> outputs,
                                    Graph& graph) {
  Formula f(node, outputs, graph);
  return f.dx(f.only_where(f.above(f.x, f.alpha), f.dy));
}

}  // namespace shoal::ops
