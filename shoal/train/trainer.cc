#include "shoal/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "shoal/ops/ops.h"
#include "shoal/passes/passes.h"
#include "shoal/passes/rewriter.h"
#include "shoal/train/differentiate.h"

namespace shoal::train {
namespace {

constexpr size_t kScores = 0, kLoss = 1, kFirstGradient = 2;  // outputs of a step

const Node* maker_of(const Graph& graph, ValueId id) {
  for (const Node& node : graph.nodes()) {
    if (std::ranges::find(node.outputs, id) != node.outputs.end()) return &node;
  }
  return nullptr;
}

// What the loss is of: cross-entropy does its own softmax, and more exactly.
ValueId scores_of(const Graph& network) {
  const ValueId output = network.outputs()[0];
  const Node* last = maker_of(network, output);
  return last != nullptr && last->op == &ops::softmax ? last->inputs[0] : output;
}

bool learns(const Graph& graph, const Node& node, size_t input) {
  const ValueId id = node.inputs[input];
  if (id == kNoValue || node.op->is_statistic(input) || !graph[id].constant) return false;
  const TensorType& type = graph[id].type;
  return type.dtype == DType::kF32 && type.shape.rank() > 0;
}

std::vector<ValueId> learned_values(const Graph& graph) {
  std::vector<ValueId> ids;
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool known = std::ranges::find(ids, node.inputs[i]) != ids.end();
      if (!known && learns(graph, node, i)) ids.push_back(node.inputs[i]);
    }
  }
  return ids;
}

// The network, and behind its output the loss; labels are its second input.
struct WithLoss {
  Graph graph;
  ValueId loss;
  std::vector<ValueId> parameters;
};

Result<WithLoss> with_loss(const Graph& network, std::span<const ValueId> parameters) {
  const ValueId scores = scores_of(network);
  const Shape& shape = network[scores].type.shape;
  if (shape.rank() != 2) {
    return invalid("the output is " + to_string(shape) + ", should be scores [batch, classes]");
  }
  passes::Rewriter rewriter(network);
  const ValueId labels = rewriter.to().add_input("labels", {DType::kI64, {shape[0]}});
  for (const Node& node : network.nodes()) SHOAL_TRY(rewriter.copy(node));
  SHOAL_ASSIGN(const ValueId loss, rewriter.to().add(ops::softmax_cross_entropy_loss,
                                                     {rewriter.map(scores), labels}, {}, "loss"));
  std::vector<ValueId> ids;
  for (ValueId id : parameters) ids.push_back(rewriter.map(id));
  SHOAL_ASSIGN(Graph graph, rewriter.finish());
  graph.mark_output(loss);
  return WithLoss{std::move(graph), loss, std::move(ids)};
}

}  // namespace

Result<Trainer> Trainer::create(Device& device, const Graph& network, const SgdOptions& options) {
  if (network.inputs().size() != 1 || network.outputs().size() != 1) {
    return invalid("only networks with one input and one output can be trained");
  }
  Trainer trainer(network, options);
  trainer.ids_ = learned_values(network);
  SHOAL_ASSIGN(const WithLoss forward, with_loss(network, trainer.ids_));
  SHOAL_ASSIGN(const Differentiated both,
               differentiate(forward.graph, forward.loss, forward.parameters));
  SHOAL_ASSIGN(const Graph step, passes::optimize(both.graph));
  SHOAL_ASSIGN(trainer.executable_, device.compile(step));
  for (ValueId id : trainer.ids_) {
    trainer.names_.push_back(network[id].name);
    trainer.weights_.push_back(network[id].constant->clone());
  }
  return trainer;
}

Result<float> Trainer::step(const Tensor& inputs, const Tensor& labels) {
  const Graph& graph = executable_->graph();
  std::vector<Tensor> feeds{inputs, labels};
  for (size_t i = 0; i < feeds.size(); ++i) {
    const TensorType& wanted = graph[graph.inputs()[i]].type;
    if (feeds[i].type() == wanted) continue;
    return invalid("a batch has " + to_string(feeds[i].type()) + ", should have " +
                   to_string(wanted));
  }
  feeds.insert(feeds.end(), weights_.begin(), weights_.end());
  std::vector<Tensor> outputs(graph.outputs().size());
  SHOAL_TRY(executable_->run(feeds, outputs, nullptr));
  const float loss = outputs[kLoss].data<float>()[0];
  if (!std::isfinite(loss)) return invalid("the loss is no number; a lower rate may help");
  gradients_.assign(outputs.begin() + kFirstGradient, outputs.end());
  scores_ = outputs[kScores];
  sgd_.update(weights_, gradients_);
  return loss;
}

Result<Graph> Trainer::network() const {
  passes::Rewriter rewriter(network_);
  for (size_t i = 0; i < ids_.size(); ++i) {
    rewriter.replace(ids_[i], rewriter.to().add_constant(names_[i], weights_[i].clone()));
  }
  for (const Node& node : network_.nodes()) SHOAL_TRY(rewriter.copy(node));
  return rewriter.finish();
}

}  // namespace shoal::train
