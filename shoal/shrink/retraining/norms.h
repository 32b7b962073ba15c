// Batch norms while a network learns (shrink/compress/refit/restore_norms.h).
#pragma once

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/quantization/calibration.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::fit {

// Some of the examples, at most so many, spread over all of them, as `network` for one example
// takes them. Ranges and moments hardly change after some dozens. `examples` outlives the result.
compress::CalibrationData spread_examples(const Graph& network, const Dataset& examples,
                                          const TrainingOptions& recipe, size_t most = 128);

// A network as it learns.
struct Learner {
  NetworkForBatch network;
  bool has_new_norms = false;
};

// The network with norms behind the convolutions that have none. Its answers and the numbers of its
// units stay. Fails as the examples and the device do.
Result<Learner> with_norms(Device& device, const NetworkForBatch& network, const Dataset& examples,
                           const TrainingOptions& recipe);

// The network with its norms folded into the products before them.
Result<Graph> with_folded_norms(const Graph& network);
NetworkForBatch with_folded_norms(NetworkForBatch network);

}  // namespace shoal::fit
