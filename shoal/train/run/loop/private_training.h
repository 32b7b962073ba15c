// DP-SGD in a training run (shoal/train/privacy): choice of examples, per-example gradients, and
// the privacy cost.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/privacy/clipped_sum.h"
#include "shoal/train/privacy/privacy_options.h"
#include "shoal/train/run/setup/training_options.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::fit {

// Not thread-safe but for choose().
class PrivateTraining {
 public:
  // REQUIRES: options.is_on(); 0 < batch <= examples.
  PrivateTraining(const privacy::PrivacyOptions& options, size_t batch, size_t examples);

  // For a trainer of a network for one example. kUnsupported if it measures statistics, as
  // BatchNormalization does: examples would leak without noise.
  Status begin(const train::Trainer& trainer);

  // The examples of a step, each with probability batch / examples. Thread-safe.
  std::vector<size_t> choose(uint64_t step) const;

  struct Outcome {
    double loss = 0;     // mean over the examples; 0 if there is none
    size_t correct = 0;  // answers
  };
  // One step with the examples of choose(). `targets` gives those of a batch of one. Fails as the
  // trainer does, and for gradients that are NaN or infinite.
  Result<Outcome> step(train::Trainer& trainer, const Batch& batch, uint64_t step,
                       double rate_factor,
                       const std::function<Result<std::vector<Tensor>>(const Batch& one)>& targets);

  // The privacy cost of n steps.
  privacy::PrivacySpent spent(uint64_t steps) const;

 private:
  privacy::PrivacyOptions options_;
  privacy::Key key_;
  size_t batch_, examples_;
  std::optional<privacy::ClippedSum> sum_;
};

// Images per second of ordinary training: the fastest of a few steps with one batch; 0 if the
// examples do not fill one. REQUIRES: check(options) is OK; the network is for options.batch, and
// there is no teacher.
Result<double> speed_without_privacy(Device& device, const Graph& network, const Dataset& training,
                                     const TrainingOptions& options);

}  // namespace shoal::fit
