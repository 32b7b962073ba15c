// Activations: element-wise functions y = f(x) that networks apply behind their layers.
//
// Celu             max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)
// Elu              x < 0 ? alpha (exp(x) - 1) : x
// Gelu             x Phi(x) = x/2 (1 + erf(x / sqrt(2))), or an approximation by tanh
// HardSigmoid      clamp(alpha x + beta, 0, 1)
// HardSwish        x clamp(x / 6 + 1/2, 0, 1)
// LeakyRelu        x < 0 ? alpha x : x
// Mish             x tanh(softplus(x))
// Relu             max(x, 0)
// Selu             gamma (x > 0 ? x : alpha (exp(x) - 1))
// Shrink           x < -lambda ? x + bias : x > lambda ? x - bias : 0
// Sigmoid          1 / (1 + exp(-x))
// Softplus         log(1 + exp(x))
// Softsign         x / (1 + |x|)
// Swish            x sigmoid(alpha x)
// ThresholdedRelu  x > alpha ? x : 0
//
// expm1 replaces exp(x) - 1, which loses all digits near 0. Gradients are in gradient_unary.cc;
// Gelu, Mish and Swish are differentiated through their expansions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/elementwise/elementwise.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"

namespace shoal::ops {
namespace {

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)). The argument of exp is never positive, so it
// cannot overflow.
template <class T>
T softplus_of(T x) {
  return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
}

// std::min and std::max give their first argument where a NaN is compared, so x comes first.
template <class T>
T clamp_to_unit(T x) {
  return std::max(std::min(x, T{1}), T{0});
}

struct Celu {
  static constexpr ElementParameters kParameters = {{{"alpha", 1}}};
  template <class T>
  T operator()(T x, T alpha, T) const {
    return std::max(x, T{0}) + std::min(alpha * std::expm1(x / alpha), T{0});
  }
};

struct Elu {
  static constexpr ElementParameters kParameters = {{{"alpha", 1}}};
  template <class T>
  T operator()(T x, T alpha, T) const {
    return x < 0 ? alpha * std::expm1(x) : x;
  }
};

// ONNX has Gelu from opset 20 on; here it is our own operator.
struct Gelu {
  static constexpr ElementParameters kParameters = {{{.attribute = "approximate", .text = "tanh"}}};
  static Status check(const Node& node, std::span<const Operand>) {
    const std::string form = node.text("approximate", "none");
    if (form == "none" || form == "tanh") return {};
    return invalid("approximate is " + form + ", should be none or tanh");
  }
  template <class T>
  T operator()(T x, T approximate, T) const {
    constexpr T half{0.5};
    if (approximate == 0) return half * x * (1 + std::erf(x * (std::numbers::sqrt2_v<T> / 2)));
    return half * x *
           (1 + std::tanh(static_cast<T>(kSlope) * (x + static_cast<T>(kCubic) * x * x * x)));
  }
  static constexpr double kSlope = 0.79788456080286535588;  // sqrt(2 / pi)
  static constexpr double kCubic = 0.044715;
};

struct HardSigmoid {
  static constexpr ElementParameters kParameters = {{{"alpha", 0.2f}, {"beta", 0.5f}}};
  template <class T>
  T operator()(T x, T alpha, T beta) const {
    return clamp_to_unit(alpha * x + beta);
  }
};

struct LeakyRelu {
  static constexpr ElementParameters kParameters = {{{"alpha", 0.01f}}};
  template <class T>
  T operator()(T x, T alpha, T) const {
    return x < 0 ? alpha * x : x;
  }
};

// Clamps to [0, infinity].
struct Relu {
  static constexpr ElementParameters kParameters = {
      {{.value = 0}, {.value = std::numeric_limits<float>::infinity()}}};
  template <class T>
  T operator()(T x, auto, auto) const {
    return std::max(x, T{0});
  }
};

struct Selu {
  static constexpr ElementParameters kParameters = {
      {{"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}}};
  template <class T>
  T operator()(T x, T alpha, T gamma) const {
    return gamma * (x > 0 ? x : alpha * std::expm1(x));
  }
};

// ONNX allows integers here. `bias` is a float, so the sum is computed in double and saturates.
struct Shrink {
  static constexpr ElementParameters kParameters = {{{"lambd", 0.5f}, {"bias", 0}}};
  template <class T, class P>
  T operator()(T x, P lambd, P bias) const {
    const auto wide = static_cast<P>(x);
    if (wide < -lambd) return convert<T>(wide + bias);
    if (wide > lambd) return convert<T>(wide - bias);
    return T{0};
  }
};

// Our own until ONNX has it, from opset 24 on. QuickGelu is the one with alpha 1.702.
struct Swish {
  static constexpr ElementParameters kParameters = {{{"alpha", 1}}};
  template <class T>
  T operator()(T x, T alpha, T) const {
    return x / (1 + std::exp(-alpha * x));
  }
};

struct ThresholdedRelu {
  static constexpr ElementParameters kParameters = {{{"alpha", 1}}};
  template <class T>
  T operator()(T x, T alpha, T) const {
    return x > alpha ? x : T{0};
  }
};

Result<std::vector<ValueId>> expand_gelu(const Node& node, std::span<const ValueId> inputs,
                                         Graph& graph) {
  const ValueId x = inputs[0];
  Chain chain(graph, x);
  ValueId gate;
  if (attribute_of(node, Gelu::kParameters[0]) != 0) {
    const ValueId cube = chain.add(mul, {chain.add(mul, {x, x}), x});
    const ValueId bent = chain.add(add, {x, chain.add(mul, {cube, chain.scalar(Gelu::kCubic)})});
    gate = chain.add(tanh, {chain.add(mul, {bent, chain.scalar(Gelu::kSlope)})});
  } else {
    gate = chain.add(erf, {chain.add(div, {x, chain.scalar(std::numbers::sqrt2)})});
  }
  const ValueId twice = chain.add(mul, {x, chain.add(add, {gate, chain.scalar(1)})});
  return chain.finish({chain.add(mul, {twice, chain.scalar(0.5)})});
}

Result<std::vector<ValueId>> expand_mish(const Node&, std::span<const ValueId> inputs,
                                         Graph& graph) {
  const ValueId x = inputs[0];
  Chain chain(graph, x);
  return chain.finish({chain.add(mul, {x, chain.add(tanh, {chain.add(softplus, {x})})})});
}

Result<std::vector<ValueId>> expand_swish(const Node& node, std::span<const ValueId> inputs,
                                          Graph& graph) {
  const ValueId x = inputs[0];
  Chain chain(graph, x);
  const double alpha = attribute_of(node, Swish::kParameters[0]);
  const ValueId steep = alpha == 1 ? x : chain.add(mul, {x, chain.scalar(alpha)});
  return chain.finish({chain.add(mul, {x, chain.add(sigmoid, {steep})})});
}

// Activations are finite: none grows faster than linearly in its argument.
template <class List, class F>
constexpr Operator activation(std::string_view name, F = {}) {
  return finite(unary<List, F>(name));
}

constexpr Operator expanding(Operator op, decltype(Operator::expand) expand) {
  op.expand = expand;
  return op;
}

constexpr Operator clamping(Operator op) {
  op.elementwise.clamps = true;
  return op;
}

}  // namespace

SHOAL_RECORD(celu) = differentiable(activation<Floats, Celu>("Celu"), celu_gradient);
SHOAL_RECORD(elu) = differentiable(activation<Floats, Elu>("Elu"), elu_gradient);
SHOAL_RECORD(gelu) = expanding(activation<Floats, Gelu>("Gelu"), expand_gelu);
SHOAL_RECORD(hard_sigmoid) = differentiable(activation<Floats, HardSigmoid>("HardSigmoid"),
                                            hard_sigmoid_gradient);
SHOAL_RECORD(hard_swish) = differentiable(
    activation<Floats>("HardSwish",
                       []<class T>(T x) { return x * clamp_to_unit(x / T{6} + T{0.5}); }),
    hard_swish_gradient);
SHOAL_RECORD(leaky_relu) = differentiable(activation<Floats, LeakyRelu>("LeakyRelu"),
                                          leaky_relu_gradient);
// ONNX has Mish from opset 18 on.
SHOAL_RECORD(mish) = expanding(
    activation<Floats>("Mish", [](auto x) { return x * std::tanh(softplus_of(x)); }), expand_mish);
SHOAL_RECORD(relu) = differentiable(clamping(activation<Numbers, Relu>("Relu")), relu_gradient);
SHOAL_RECORD(selu) = differentiable(activation<Floats, Selu>("Selu"), selu_gradient);
SHOAL_RECORD(shrink) = differentiable(activation<Numbers, Shrink>("Shrink"), shrink_gradient);
SHOAL_RECORD(sigmoid) = differentiable(
    activation<Floats>("Sigmoid", [](auto x) { return 1 / (1 + std::exp(-x)); }), sigmoid_gradient);
SHOAL_RECORD(softplus) = differentiable(activation<Floats>("Softplus",
                                                           [](auto x) { return softplus_of(x); }),
                                        softplus_gradient);
SHOAL_RECORD(softsign) =
    differentiable(activation<Floats>("Softsign", [](auto x) { return x / (1 + std::abs(x)); }),
                   softsign_gradient);
SHOAL_RECORD(swish) = expanding(activation<Floats, Swish>("Swish"), expand_swish);
SHOAL_RECORD(thresholded_relu) = differentiable(
    activation<Floats, ThresholdedRelu>("ThresholdedRelu"), thresholded_relu_gradient);

}  // namespace shoal::ops
