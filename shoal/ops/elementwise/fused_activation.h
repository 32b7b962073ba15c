// Activation: the element-wise function that a fused operator applies to its sum. One table for
// those who fuse (passes), who compute (this room and the devices) and who take apart again
// (export). The law of `expand` holds the formulas here to the operators of the same names.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <span>

#include "shoal/graph/graph.h"

namespace shoal::ops {

struct Activation {
  enum class Kind : uint8_t {
    kNone,
    kRelu,
    kLeakyRelu,
    kClip,
    kSigmoid,
    kTanh,
    kHardSigmoid,
    kHardSwish,
    kGelu,  // with erf, not the approximation by tanh
    kSwish,
  };
  Kind kind = Kind::kNone;
  float alpha = 0;  // LeakyRelu, HardSigmoid, Swish; the lower bound of Clip
  float beta = 0;   // HardSigmoid; the upper bound of Clip

  friend bool operator==(const Activation&, const Activation&) = default;
};

// Of a fused node: `activation` is the ONNX name, or empty; `activation_alpha` and
// `activation_beta` default to what the operator of that name takes.
Result<Activation> require_activation(const Node& node);
Activation activation_of(const Node& node);  // of a node that `infer` has accepted
void set_activation(Attributes& attributes, const Activation& activation);

// Of a node such as Relu that a pass may put into a fused one: what it applies to its input 0.
// Nothing if it is no such node, or a Clip whose bounds are not constant.
std::optional<Activation> as_activation(const Node& node, std::span<const Operand> inputs);

// Appends ONNX nodes that apply it to x.
Result<ValueId> append(const Activation& activation, ValueId x, Graph& graph);

// std::min and std::max give their first argument where a NaN is compared, so x comes first.
template <class T>
T apply(const Activation& activation, T x) {
  using enum Activation::Kind;
  const auto alpha = static_cast<T>(activation.alpha), beta = static_cast<T>(activation.beta);
  const auto unit = [](T value) { return std::max(std::min(value, T{1}), T{0}); };
  switch (activation.kind) {
    case kNone:
      return x;
    case kRelu:
      return std::max(x, T{0});
    case kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case kClip:
      return std::min(std::max(x, alpha), beta);
    case kSigmoid:
      return 1 / (1 + std::exp(-x));
    case kTanh:
      return std::tanh(x);
    case kHardSigmoid:
      return unit(alpha * x + beta);
    case kHardSwish:
      return x * unit(x / 6 + T{0.5});
    case kGelu:
      return T{0.5} * x * (1 + std::erf(x * (std::numbers::sqrt2_v<T> / 2)));
    case kSwish:
      return x / (1 + std::exp(-alpha * x));
  }
  return x;
}

void apply(const Activation& activation, Tensor& tensor);  // of floats, in place

}  // namespace shoal::ops
