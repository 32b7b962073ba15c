// Sensitivity: what each group of a network alone contributes to its accuracy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/prune/result.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/data/dataset.h"

namespace shoal::shrink {

// Evaluates the network without 10 %, 20 %, ... 90 % of the units of one group at a time, least
// worth by options.importance first; no retraining. What comes before a group is computed once for
// all of its shares. Uses the first sensitivity_examples() examples. Fails as worth_of() and the
// device do; kInvalidArgument without examples; kCancelled soon after `cancel` is set.
Result<Sensitivity> sensitivity_of(Device& device, const NetworkForBatch& network,
                                   const std::shared_ptr<const Dataset>& examples,
                                   const ShrinkOptions& options,
                                   const std::atomic<bool>* cancel = nullptr);

// The number of examples for `groups` groups of a network of `macs` multiply-accumulates: 2,000, or
// fewer if all evaluations would take more than 1e13, but at least 100. ResNet-20 takes 9e12, 114 s
// on one core of a busy machine. Pure.
size_t sensitivity_examples(size_t there_are, size_t groups, int64_t macs);

}  // namespace shoal::shrink
