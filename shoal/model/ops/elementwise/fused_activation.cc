// Activations as attributes of fused nodes: read, written, and applied.
#include "shoal/model/ops/elementwise/fused_activation.h"

#include <string>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/elementwise/elementwise.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

// The value of a parameter in a node. nullopt if it is an input that is not constant.
std::optional<float> value_of(const ElementParameter& parameter, const Node& node,
                              std::span<const Operand> inputs) {
  const size_t i = parameter.input;
  if (i == 0) return attribute_of(node, parameter);
  if (i >= inputs.size() || !inputs[i].given) return parameter.value;
  if (inputs[i].value == nullptr || inputs[i].type.shape.count() != 1 ||
      !Floats::contains(inputs[i].type.dtype)) {
    return std::nullopt;
  }
  return converted(*inputs[i].value, DType::kF32).data<float>()[0];
}

// The inverse: gives the node a parameter.
void set_parameter(const ElementParameter& parameter, float value, DType dtype, Node& node,
                   Graph& graph) {
  if (parameter.input > 0) {
    node.inputs.resize(std::max(node.inputs.size(), parameter.input + 1), kNoValue);
    node.inputs[parameter.input] =
        graph.add_constant("bound", converted(Tensor::of<float>({}, {value}), dtype));
  } else if (!parameter.text.empty()) {
    if (value != 0) node.attributes[std::string(parameter.attribute)] = std::string(parameter.text);
  } else if (!parameter.attribute.empty()) {
    node.attributes[std::string(parameter.attribute)] = value;
  }
}

}  // namespace

std::optional<Activation> plain_activation(const Operator* op) {
  if (op == nullptr || op->elementwise.f32 == nullptr) return std::nullopt;
  const auto& [alpha, beta] = op->elementwise.parameters;
  return Activation{op, alpha.value, beta.value};
}

Result<Activation> require_activation(const Node& node) {
  const std::string name = node.text("activation", "");
  if (name.empty()) return Activation{};
  const std::optional<Activation> plain = plain_activation(find(name));
  // Kernels apply a fused activation to the padding of a vector too, hence `finite`.
  if (!plain || !plain->op->elementwise.finite) {
    return invalid("activation " + name + " is not one that can be fused");
  }
  const auto& [alpha, beta] = plain->op->elementwise.parameters;
  Activation activation = *plain;
  if (!alpha.is_fixed()) activation.alpha = node.real("activation_alpha", alpha.value);
  if (!beta.is_fixed()) activation.beta = node.real("activation_beta", beta.value);
  return activation;
}

Activation activation_of(const Node& node) {
  auto activation = require_activation(node);
  SHOAL_CHECK(activation.ok());
  return *activation;
}

void set_activation(Attributes& attributes, const Activation& activation) {
  attributes["activation"] = activation.op ? std::string(activation.op->name) : std::string();
  if (activation.op == nullptr) return;
  const auto& [alpha, beta] = activation.op->elementwise.parameters;
  if (!alpha.is_fixed()) attributes["activation_alpha"] = activation.alpha;
  if (!beta.is_fixed()) attributes["activation_beta"] = activation.beta;
}

std::optional<Activation> as_activation(const Node& node, std::span<const Operand> inputs) {
  if (!plain_activation(node.op)) return std::nullopt;
  const auto& parameters = node.op->elementwise.parameters;
  const auto alpha = value_of(parameters[0], node, inputs);
  const auto beta = value_of(parameters[1], node, inputs);
  return alpha && beta ? std::optional(Activation{node.op, *alpha, *beta}) : std::nullopt;
}

Result<ValueId> append(const Activation& activation, ValueId x, Graph& graph) {
  if (activation.op == nullptr) return x;
  const auto& [alpha, beta] = activation.op->elementwise.parameters;
  const DType dtype = graph[x].type.dtype;
  Node node{activation.op, {x}, {}, {}, {}};
  set_parameter(alpha, activation.alpha, dtype, node, graph);
  set_parameter(beta, activation.beta, dtype, node, graph);
  // ONNX files have no operators of our own, so these are appended in expanded form.
  if (node.op->expand == nullptr) return graph.add(*node.op, node.inputs, node.attributes);
  SHOAL_ASSIGN(const std::vector<ValueId> y, node.op->expand(node, node.inputs, graph));
  return y[0];
}

void apply(const Activation& activation, Tensor& tensor) {
  if (activation.op == nullptr) return;
  visit<Floats>(tensor.dtype(), [&]<class T>() {
    for (T& x : tensor.data<T>()) x = static_cast<T>(activation(static_cast<Compute<T>>(x)));
  });
}

}  // namespace shoal::ops
