// The operator ElementwiseChain: its types, its reference, and the text form of its steps, "Add 0
// 1" for the sum of operands 0 and 1. The reference computes one step after the other by the
// operators themselves.
#include <algorithm>
#include <sstream>

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"

namespace shoal::cpu {
namespace {

bool contains(std::span<const Operator* const> list, const Operator* op) {
  return std::ranges::find(list, op) != list.end();
}

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
    if (step.operands.size() > 1) {
      step.op->reference(Node{step.op, {}, {}, {}, {}}, operands, std::span(&result, 1));
    } else {
      std::ranges::copy(operands[0].bytes(), result.bytes().begin());
      ops::apply({step.op, step.alpha, step.beta}, result);
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
                                   .split = ops::split_elementwise,
                                   .in_place = true};

std::optional<ChainStep> as_step(const Graph& graph, const Node& node) {
  const TensorType& y = graph[node.outputs[0]].type;
  if (node.outputs.size() != 1 || y.dtype != DType::kF32) return std::nullopt;
  // Max and Min may have any number of inputs; only two make a step.
  if (node.inputs.size() == 2 && contains(vector_pairs(), node.op))
    return ChainStep{node.op, {}, 0, 0};
  if (!contains(vector_functions(), node.op)) return std::nullopt;
  const auto function = ops::as_activation(node, graph.operands(node.inputs));
  if (!function) return std::nullopt;
  return ChainStep{node.op, {}, function->alpha, function->beta};
}

Attributes to_attributes(const std::vector<ChainStep>& steps) {
  std::vector<std::string> texts;
  std::vector<float> alphas, betas;
  for (const ChainStep& step : steps) {
    std::string text(step.op->name);
    for (size_t i : step.operands) text += ' ' + std::to_string(i);
    texts.push_back(std::move(text));
    alphas.push_back(step.alpha);
    betas.push_back(step.beta);
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
    ChainStep step{ops::find(name), {}, alphas[i], betas[i]};
    for (size_t operand; text >> operand;) step.operands.push_back(operand);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace shoal::cpu
