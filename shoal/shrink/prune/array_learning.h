// Training on arrays: examples that are no images, such as sequences of tokens, with labels of
// tokens or another network's answers as targets.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/tprune.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/step/optimizer/regularizer.h"

namespace shoal::shrink {

// A penalty on the units of each group, over all their learned weights. Pure. REQUIRES: the groups
// are those of the graph.
train::UnitPenalty penalty_on(const Graph& graph, const compress::Groups& groups,
                              train::Regularizer::Penalty penalty, double strength);

// Examples along the first axis of both.
struct ArrayExamples {
  Tensor inputs;  // as the network reads them, but for their number
  // i64: labels, one per row of scores. f32: the wanted outputs; the loss is their mean square
  // error.
  Tensor targets;
};

// kInvalidArgument unless both have the same positive number of examples, and targets are i64 or
// f32.
Status check(const ArrayExamples& examples);

// The network's answer to each example: f32 [examples, ...], in batches of this size. Fails as the
// device does; kInvalidArgument for examples of the wrong type.
Result<Tensor> answers_of(Device& device, const NetworkForBatch& network, const Tensor& inputs,
                          size_t batch);

// Quality of answers. For labels, the percentage of rows of scores that are highest at their label;
// for values, the mean cosine between answer and target, times 100. REQUIRES: check(examples) is
// OK.
Result<double> score_of(const Tensor& answers, const Tensor& targets);

// Both are optional.
struct ArrayCallbacks {
  std::function<void(const ArrayStep&)> on_step = {};
  const std::atomic<bool>* cancel = nullptr;  // set by any thread to end after the present step
};

// Trains by the recipe: epochs, batch, seed, optimizer, schedule and frozen weights; the loss
// follows from the targets. The order of examples is a function of the seed. Fails as
// check(examples) and the device do; kInvalidArgument if network and examples do not fit;
// kCancelled if the callbacks say so.
Result<Weights> learn(Device& device, const NetworkForBatch& network, const ArrayExamples& examples,
                      const fit::TrainingOptions& recipe,
                      const std::optional<SparseLearning>& sparse = {},
                      const ArrayCallbacks& callbacks = {});

}  // namespace shoal::shrink
