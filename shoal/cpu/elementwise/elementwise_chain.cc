#include "shoal/cpu/elementwise/elementwise_chain.h"

#include <algorithm>
#include <sstream>

#include "shoal/ops/broadcast.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/record.h"

namespace shoal::cpu {
namespace {

constexpr std::array kPlain = {&ops::add, &ops::div,  &ops::mul,          &ops::prelu,
                               &ops::sub, &ops::abs,  &ops::erf,          &ops::exp,
                               &ops::neg, &ops::sqrt, &ops::relu_backward};

Result<std::vector<TensorType>> infer(const Node&, std::span<const Operand> inputs) {
  std::vector<Shape> shapes;
  for (const Operand& input : inputs) shapes.push_back(input.type.shape);
  SHOAL_ASSIGN(const Shape shape, ops::broadcast(shapes));
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<Tensor> values(inputs.begin(), inputs.end());
  for (const ChainStep& step : steps_of(node)) {
    std::vector<Tensor> operands;
    for (size_t i : step.operands) operands.push_back(values[i]);
    Tensor result(outputs[0].type());
    if (step.activation.kind == ops::Activation::Kind::kNone) {
      step.op->reference(Node{step.op, {}, {}, {}, {}}, operands, std::span(&result, 1));
    } else {
      std::ranges::copy(operands[0].bytes(), result.bytes().begin());
      ops::apply(step.activation, result);
    }
    values.push_back(std::move(result));
  }
  std::ranges::copy(values.back().bytes(), outputs[0].bytes().begin());
}

}  // namespace

SHOAL_RECORD(elementwise_chain) = {.name = "ElementwiseChain",
                                   .max_inputs = kMaxChainInputs,
                                   .infer = infer,
                                   .reference = reference,
                                   .in_place = true};

std::optional<ChainStep> as_step(const Graph& graph, const Node& node) {
  const TensorType& y = graph[node.outputs[0]].type;
  if (node.outputs.size() != 1 || y.dtype != DType::kF32) return std::nullopt;
  if (std::ranges::find(kPlain, node.op) != kPlain.end()) return ChainStep{node.op, {}, {}};
  const auto activation = ops::as_activation(node, graph.operands(node.inputs));
  return activation ? std::optional(ChainStep{node.op, {}, *activation}) : std::nullopt;
}

Attributes to_attributes(const std::vector<ChainStep>& steps) {
  std::vector<std::string> texts;
  std::vector<float> alphas, betas;
  for (const ChainStep& step : steps) {
    std::string text(step.op->name);
    for (size_t i : step.operands) text += ' ' + std::to_string(i);
    texts.push_back(std::move(text));
    alphas.push_back(step.activation.alpha);
    betas.push_back(step.activation.beta);
  }
  return {{"steps", std::move(texts)}, {"alphas", std::move(alphas)}, {"betas", std::move(betas)}};
}

std::vector<ChainStep> steps_of(const Node& chain) {
  const auto texts = attribute(chain.attributes, "steps", std::vector<std::string>());
  const auto alphas = attribute(chain.attributes, "alphas", std::vector<float>());
  const auto betas = attribute(chain.attributes, "betas", std::vector<float>());
  std::vector<ChainStep> steps;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::istringstream text(texts[i]);
    std::string name;
    text >> name;
    ChainStep step{ops::find(name), {}, {}};
    for (size_t operand; text >> operand;) step.operands.push_back(operand);
    if (std::ranges::find(kPlain, step.op) == kPlain.end()) {
      step.activation = ops::activation_of(
          {step.op,
           {},
           {},
           {{"activation", name}, {"activation_alpha", alphas[i]}, {"activation_beta", betas[i]}},
           {}});
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace shoal::cpu
