// Learning from arrays: examples that are no images, such as sequences of tokens, and targets that
// are labels of tokens or what another network answers.
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

// A penalty on the units of each group, over all learned weights that live and die together. Pure.
// REQUIRES: the groups are those of the graph.
train::UnitPenalty penalty_on(const Graph& graph, const compress::Groups& groups,
                              train::Regularizer::Penalty penalty, double strength);

// Examples along the first axis of both.
struct ArrayExamples {
  Tensor inputs;  // as the network reads them, but for their number
  // i64: labels, as many per example as the network gives rows of scores. f32: what the network
  // should answer, the same count of numbers per example; the loss is their mean square error.
  Tensor targets;
};

// Fails with kInvalidArgument unless both have examples, as many of them, and targets are i64 or
// f32.
Status check(const ArrayExamples& examples);

// What the network answers to each example: f32 [examples, ...], in batches of this size. Fails as
// the device does, and with kInvalidArgument for examples of another type than the network reads.
Result<Tensor> answers_of(Device& device, const NetworkForBatch& network, const Tensor& inputs,
                          size_t batch);

// How good answers are. Of labels, the percentage of rows of scores that are highest at their
// label; of values, the mean cosine between answer and target, times 100. REQUIRES: check(examples)
// is OK.
Result<double> score_of(const Tensor& answers, const Tensor& targets);

// Both are optional.
struct ArrayCallbacks {
  std::function<void(const ArrayStep&)> on_step = {};
  const std::atomic<bool>* cancel = nullptr;  // set by any thread to end after the present step
};

// The weights of a network after it learned from examples as the recipe says: epochs, batch, seed,
// optimiser, schedule and what is frozen; the loss follows from the targets. The order of examples
// is a function of the seed. Fails as check(examples) and the device do, with kInvalidArgument if
// network and examples do not fit, and with kCancelled if the callbacks say so.
Result<Weights> learn(Device& device, const NetworkForBatch& network, const ArrayExamples& examples,
                      const fit::TrainingOptions& recipe,
                      const std::optional<SparseLearning>& sparse = {},
                      const ArrayCallbacks& callbacks = {});

}  // namespace shoal::shrink
