#include "shoal/train/trainer.h"

#include <cmath>

#include "shoal/passes/rewriter.h"
#include "shoal/train/step_graph.h"

namespace shoal::train {
namespace {

constexpr size_t kScores = 0, kLoss = 1, kFirstStatistic = 2;  // outputs of a step

}  // namespace

Result<Trainer> Trainer::create(Device& device, const Graph& network, const SgdOptions& options) {
  SHOAL_ASSIGN(const StepGraph step, make_step_graph(network));
  Trainer trainer(network, options);
  SHOAL_ASSIGN(trainer.executable_, device.compile(step.graph));
  for (ValueId id : step.statistics) trainer.statistics_.push_back(*network[id].constant);
  for (ValueId id : step.parameters) {
    trainer.names_.push_back(network[id].name);
    trainer.weights_.push_back(network[id].constant->clone());
  }
  trainer.statistic_ids_ = step.statistics;
  trainer.parameter_ids_ = step.parameters;
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
  feeds.insert(feeds.end(), statistics_.begin(), statistics_.end());
  feeds.insert(feeds.end(), weights_.begin(), weights_.end());
  std::vector<Tensor> outputs(graph.outputs().size());
  SHOAL_TRY(executable_->run(feeds, outputs, nullptr));
  const float loss = outputs[kLoss].data<float>()[0];
  if (!std::isfinite(loss)) return invalid("the loss is no number; a lower rate may help");
  const auto measured = outputs.begin() + kFirstStatistic;
  const auto gradients = measured + static_cast<std::ptrdiff_t>(statistics_.size());
  statistics_.assign(measured, gradients);
  gradients_.assign(gradients, outputs.end());
  scores_ = outputs[kScores];
  sgd_.update(weights_, gradients_);
  return loss;
}

Result<Graph> Trainer::network() const {
  passes::Rewriter rewriter(network_);
  const auto replace = [&](std::span<const ValueId> ids, std::span<const Tensor> tensors) {
    for (size_t i = 0; i < ids.size(); ++i) {
      rewriter.replace(ids[i],
                       rewriter.to().add_constant(network_[ids[i]].name, tensors[i].clone()));
    }
  };
  replace(statistic_ids_, statistics_);
  replace(parameter_ids_, weights_);
  for (const Node& node : network_.nodes()) SHOAL_TRY(rewriter.copy(node));
  return rewriter.finish();
}

}  // namespace shoal::train
