// Batch norms for training (shrink/compress/refit/refit.h).
#pragma once

#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/quantization/calibration.h"
#include "shoal/shrink/compress/refit/refit.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::fit {

// At most `most` examples, evenly spread, as `network` for one example takes them; ranges and
// moments hardly change after some dozens. `examples` outlives the result.
compress::CalibrationData spread_examples(const Graph& network, const Dataset& examples,
                                          const TrainingOptions& recipe, size_t most = 128);

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

namespace shoal::shrink {

struct RefittedLearner {
  fit::Learner learner;
  std::vector<std::string> left;  // a line for each layer that keeps its weights
};

// `whole` without these units of its groups, refitted to its answers to some of the examples. Norms
// added for training are added anew, with the channels' present moments. Fails as removal, the
// examples and the device do.
Result<RefittedLearner> refitted(Device& device, const fit::Learner& whole,
                                 const std::vector<size_t>& units, const Dataset& examples,
                                 const fit::TrainingOptions& recipe,
                                 const compress::RefitOptions& options = {});

}  // namespace shoal::shrink
