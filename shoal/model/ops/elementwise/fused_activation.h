// Activation: an element-wise function of one value with its parameters, as a fused operator
// applies it to its sum. The operator's record holds the function (`elementwise` in
// model/graph/operator.h). Only `finite` functions can be fused, because they are applied to the
// padding of a vector or a block too.
#pragma once

#include <optional>
#include <span>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

struct Activation {
  const Operator* op = nullptr;  // null: none, y = x
  float alpha = 0, beta = 0;     // the parameters of its function

  float operator()(float x) const { return op->elementwise.f32(x, alpha, beta); }
  double operator()(double x) const { return op->elementwise.f64(x, alpha, beta); }

  friend bool operator==(const Activation&, const Activation&) = default;
};

// The function of an operator with its default parameters; nullopt if it has no function of one
// element.
std::optional<Activation> plain_activation(const Operator* op);

// The activation of a fused node: `activation` is the ONNX name, or empty; `activation_alpha` and
// `activation_beta` default to those of the operator of that name.
Result<Activation> require_activation(const Node& node);
Activation activation_of(const Node& node);  // REQUIRES: `infer` has accepted the node
void set_activation(Attributes& attributes, const Activation& activation);

// The activation that a node such as Relu applies to its input 0, for a pass that merges it into a
// fused node. nullopt if it is no such node, or if a parameter is an input that is not constant.
std::optional<Activation> as_activation(const Node& node, std::span<const Operand> inputs);

// Appends the ONNX nodes that apply the activation to x.
Result<ValueId> append(const Activation& activation, ValueId x, Graph& graph);

void apply(const Activation& activation, Tensor& tensor);  // of floats, in place

}  // namespace shoal::ops
