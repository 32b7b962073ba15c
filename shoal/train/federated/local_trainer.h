// LocalTrainer: what a client does in a round. It takes the server's weights, steps on its own
// examples, and has other weights at the end.
#pragma once

#include <cstdint>
#include <memory>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/federated/strategy.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::federated {

// The seed of a client's order, augmentation and dropout in a round.
uint64_t client_seed(uint64_t seed, uint64_t round, uint64_t client);

// How a client learns.
struct LocalSteps {
  int64_t steps = 1;
  double rate_factor = 1;
  float mu = 0;  // as in Strategy
  uint64_t seed = 1;
};

// Batches of an epoch. Examples that do not fill a batch are in other epochs; one batch there is
// always, filled up with repetitions.
size_t batches_per_epoch(size_t examples, size_t batch);

// One client after another may use it; it remembers nothing of the last. Not thread-safe.
class LocalTrainer {
 public:
  // `network` is for one batch. Fails as Trainer does. REQUIRES: `device` outlives it, and the
  // update is not on the device.
  static Result<LocalTrainer> create(Device& device, const Graph& network,
                                     const train::TrainerOptions& options);

  // Returns the mean loss of the steps. Step i learns from batch i of `batches`, epoch after epoch.
  // Fails as the data, the device and Trainer::step() do: kInvalidArgument where a loss is no
  // number.
  Result<double> run(const Weights& from, const Batches& batches, const LocalSteps& how);

  // The same step by step. `from` shares its tensors, which are not written.
  Status begin(Weights from, const LocalSteps& how);
  // REQUIRES: steps() < how.steps.
  Status step(const Batches& batches);
  int64_t steps() const { return steps_; }  // done since begin()
  double mean_loss() const { return steps_ > 0 ? losses_ / static_cast<double>(steps_) : 0; }

  // Those after the last run, which the next one changes.
  Weights weights() const { return trainer_.learned(); }
  const std::vector<std::string>& parameters() const { return trainer_.parameters(); }
  int64_t planned_bytes() const { return trainer_.memory().planned; }  // of a step

 private:
  explicit LocalTrainer(train::Trainer trainer);
  Status restart(uint64_t seed);
  void add_proximal();

  train::Trainer trainer_;
  // What the state of a new trainer has besides weights: the place in Dropout's random stream.
  std::vector<std::string> counters_;
  // Of this run.
  Weights from_;
  LocalSteps how_;
  int64_t steps_ = 0;
  double losses_ = 0;
};

}  // namespace shoal::federated
