// The feature cache: the outputs of a network's frozen part, computed once, so that only the head
// is trained.
//
// Exact only while images are the same in every epoch; TrainingLoop decides that.
#pragma once

#include <memory>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/data/batches.h"

namespace shoal::fit {

// The memory for the features of n examples.
size_t feature_bytes(const Graph& body, size_t examples);

struct Features {
  Tensor values;  // [examples, ...]
  Tensor labels;  // i64 [examples]
};

// The features of n examples, in memory. REQUIRES: `batches` go through the data set once, in
// order, and fit `body`, which has one output with the batch as its first axis.
Result<Features> compute_features(Executable& body, const Batches& batches, size_t examples);

// The data set with features [1, ...] instead of images. REQUIRES: they are those of `data`, which
// outlives the result.
std::shared_ptr<const Dataset> features_as_data(const Dataset& data, Features features);

}  // namespace shoal::fit
