// Evaluation of a network in training: a graph on prepared batches.
#pragma once

#include <optional>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/evaluation/evaluation.h"

namespace shoal::fit {

// Evaluates the first output of a network on batches that go through their data once. REQUIRES: the
// network has one input, which takes the batches, and its first output is [batch, classes] of f32.
Result<Evaluation> evaluate(Device& device, const Graph& network, const Batches& batches);

// Adds the answers to a batch. kInvalidArgument if `scores` are no scores of this number of images.
// If it is unknown whether they are probabilities, each row tells by itself.
Status add_answers(const Batch& batch, const Tensor& scores, std::optional<bool> probabilities,
                   Evaluation& result);

}  // namespace shoal::fit
