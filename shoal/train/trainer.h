// Trainer: a classifier learns, one batch a step. A step is forward and backward in one run of a
// graph, which gives gradients by name, and then the update: what comes between, such as an
// exchange with others, needs nothing else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/device/device.h"
#include "shoal/train/sgd.h"

namespace shoal::train {

class Trainer {
 public:
  // The network has one input, whose first axis is the batch, and one output: scores, [batch,
  // classes], or a Softmax of them. It learns its float constants, but not scalars;
  // BatchNormalization's statistics are measured.
  static Result<Trainer> create(Device& device, const Graph& network, const SgdOptions& options);

  // The mean cross-entropy of the batch before the step; labels are i64 [batch]. A loss that is no
  // number is an error, and changes no weight.
  Result<float> step(const Tensor& inputs, const Tensor& labels);

  // Of the last step: what the network answered before it, and gradients in the order of
  // parameters().
  const Tensor& scores() const { return scores_; }
  const std::vector<Tensor>& gradients() const { return gradients_; }
  const std::vector<std::string>& parameters() const { return names_; }
  const std::vector<Tensor>& weights() const { return weights_; }

  // The network with the weights as they are now.
  Result<Graph> network() const;

 private:
  Trainer(const Graph& network, const SgdOptions& options) : network_(network), sgd_(options) {}

  Graph network_;
  Sgd sgd_;
  std::unique_ptr<Executable> executable_;
  std::vector<ValueId> statistic_ids_, parameter_ids_;  // in the network
  std::vector<std::string> names_;
  std::vector<Tensor> statistics_, weights_, gradients_;
  Tensor scores_;
};

}  // namespace shoal::train
