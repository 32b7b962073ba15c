// TrainingBench: the training speed of a model on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/run/bench.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::fit {

// Steps on noise, at a rate that hardly changes the weights. Not thread-safe.
class TrainingBench {
 public:
  struct Options {
    int64_t memory_bytes = 0;  // of all values of a step; 0: any
    bool bf16 = false;         // activations in half the memory
    bool update_on_device = false;
  };
  // For batches of the network's size. Fails as Trainer::create(). REQUIRES: `device` outlives it.
  static Result<TrainingBench> create(Device& device, Graph network, const Options& options);
  static constexpr int64_t kUsualBatch = 64;

  Status step() { return trainer_->step(images_, std::span(&labels_, 1)).status(); }
  Result<BenchWork> work() const;

 private:
  TrainingBench() = default;

  Device* device_ = nullptr;
  Graph network_;
  train::TrainerOptions options_;
  std::unique_ptr<train::Trainer> trainer_;
  Tensor images_, labels_;
};

}  // namespace shoal::fit
