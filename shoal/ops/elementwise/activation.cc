// Activations: element-wise functions of one input that networks put behind their layers.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "shoal/ops/chain.h"
#include "shoal/ops/convert.h"
#include "shoal/ops/elementwise/elementwise.h"
#include "shoal/ops/gradient.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/record.h"

namespace shoal::ops {
namespace {

// exp only ever sees what is negative, so it cannot overflow.
template <class T>
T softplus_of(T x) {
  return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
}

// std::min and std::max give their first argument where a NaN is compared, so x comes first.
template <class T>
T clamp_to_unit(T x) {
  return std::max(std::min(x, T{1}), T{0});
}

struct LeakyRelu {
  explicit LeakyRelu(const Node& node) : alpha(node.real("alpha", 0.01f)) {}
  template <class T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(alpha) * x : x;
  }
  float alpha;
};

struct Elu {
  explicit Elu(const Node& node) : alpha(node.real("alpha", 1)) {}
  template <class T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(alpha) * std::expm1(x) : x;
  }
  float alpha;
};

struct Selu {
  explicit Selu(const Node& node)
      : alpha(node.real("alpha", 1.67326319217681884765625f)),
        gamma(node.real("gamma", 1.05070102214813232421875f)) {}
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(gamma) * (x > 0 ? x : static_cast<T>(alpha) * std::expm1(x));
  }
  float alpha, gamma;
};

struct Celu {
  explicit Celu(const Node& node) : alpha(node.real("alpha", 1)) {}
  template <class T>
  T operator()(T x) const {
    const auto a = static_cast<T>(alpha);
    return std::max(x, T{0}) + std::min(a * std::expm1(x / a), T{0});
  }
  float alpha;
};

struct HardSigmoid {
  explicit HardSigmoid(const Node& node)
      : alpha(node.real("alpha", 0.2f)), beta(node.real("beta", 0.5f)) {}
  template <class T>
  T operator()(T x) const {
    return clamp_to_unit(static_cast<T>(alpha) * x + static_cast<T>(beta));
  }
  float alpha, beta;
};

struct ThresholdedRelu {
  explicit ThresholdedRelu(const Node& node) : alpha(node.real("alpha", 1)) {}
  template <class T>
  T operator()(T x) const {
    return x > static_cast<T>(alpha) ? x : T{0};
  }
  float alpha;
};

// Takes integers too; its attributes are floats, so these meet in double.
struct Shrink {
  explicit Shrink(const Node& node) : lambd(node.real("lambd", 0.5f)), bias(node.real("bias", 0)) {}
  template <class T>
  T operator()(T x) const {
    const auto wide = static_cast<double>(x);
    if (wide < -lambd) return convert<T>(wide + bias);
    if (wide > lambd) return convert<T>(wide - bias);
    return T{0};
  }
  double lambd, bias;
};

// ONNX has Gelu from opset 20 on; here it is our own operator.
struct Gelu {
  static bool is_tanh(const Node& node) { return node.text("approximate", "none") == "tanh"; }
  static Status check(const Node& node, std::span<const Operand>) {
    const std::string form = node.text("approximate", "none");
    if (form == "none" || form == "tanh") return {};
    return invalid("approximate is " + form + ", should be none or tanh");
  }
  explicit Gelu(const Node& node) : approximate(is_tanh(node)) {}
  template <class T>
  T operator()(T x) const {
    constexpr T half{0.5};
    if (!approximate) return half * x * (1 + std::erf(x * (std::numbers::sqrt2_v<T> / 2)));
    return half * x *
           (1 + std::tanh(static_cast<T>(kSlope) * (x + static_cast<T>(kCubic) * x * x * x)));
  }
  static constexpr double kSlope = 0.79788456080286535588;  // sqrt(2 / pi)
  static constexpr double kCubic = 0.044715;
  bool approximate;
};

// Our own until ONNX has it, from opset 24 on. QuickGelu is the one with alpha 1.702.
struct Swish {
  explicit Swish(const Node& node) : alpha(node.real("alpha", 1)) {}
  template <class T>
  T operator()(T x) const {
    return x / (1 + std::exp(-static_cast<T>(alpha) * x));
  }
  float alpha;
};

Result<std::vector<ValueId>> expand_gelu(const Node& node, std::span<const ValueId> inputs,
                                         Graph& graph) {
  const ValueId x = inputs[0];
  Chain chain(graph, x);
  ValueId gate;
  if (Gelu::is_tanh(node)) {
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
  const double alpha = Swish(node).alpha;
  const ValueId steep = alpha == 1 ? x : chain.add(mul, {x, chain.scalar(alpha)});
  return chain.finish({chain.add(mul, {x, chain.add(sigmoid, {steep})})});
}

constexpr Operator expanding(Operator op, decltype(Operator::expand) expand) {
  op.expand = expand;
  return op;
}

}  // namespace

SHOAL_RECORD(celu) = differentiable(unary<Floats, Celu>("Celu"), celu_gradient);
SHOAL_RECORD(elu) = differentiable(unary<Floats, Elu>("Elu"), elu_gradient);
SHOAL_RECORD(gelu) = expanding(unary<Floats, Gelu>("Gelu"), expand_gelu);
SHOAL_RECORD(hard_sigmoid) = differentiable(unary<Floats, HardSigmoid>("HardSigmoid"),
                                            hard_sigmoid_gradient);
SHOAL_RECORD(hard_swish) = differentiable(
    unary<Floats>("HardSwish", []<class T>(T x) { return x * clamp_to_unit(x / T{6} + T{0.5}); }),
    hard_swish_gradient);
SHOAL_RECORD(leaky_relu) = differentiable(unary<Floats, LeakyRelu>("LeakyRelu"),
                                          leaky_relu_gradient);
// ONNX has Mish from opset 18 on.
SHOAL_RECORD(mish) = expanding(unary<Floats>("Mish",
                                             [](auto x) { return x * std::tanh(softplus_of(x)); }),
                               expand_mish);
SHOAL_RECORD(relu) = differentiable(unary<Numbers>("Relu",
                                                   []<class T>(T x) { return std::max(x, T{0}); }),
                                    relu_gradient);
SHOAL_RECORD(selu) = differentiable(unary<Floats, Selu>("Selu"), selu_gradient);
SHOAL_RECORD(shrink) = differentiable(unary<Numbers, Shrink>("Shrink"), shrink_gradient);
SHOAL_RECORD(sigmoid) = differentiable(unary<Floats>("Sigmoid",
                                                     [](auto x) { return 1 / (1 + std::exp(-x)); }),
                                       sigmoid_gradient);
SHOAL_RECORD(softplus) = differentiable(unary<Floats>("Softplus",
                                                      [](auto x) { return softplus_of(x); }),
                                        softplus_gradient);
SHOAL_RECORD(softsign) = differentiable(unary<Floats>("Softsign",
                                                      [](auto x) { return x / (1 + std::abs(x)); }),
                                        softsign_gradient);
SHOAL_RECORD(swish) = expanding(unary<Floats, Swish>("Swish"), expand_swish);
SHOAL_RECORD(thresholded_relu) = differentiable(unary<Floats, ThresholdedRelu>("ThresholdedRelu"),
                                                thresholded_relu_gradient);

}  // namespace shoal::ops
