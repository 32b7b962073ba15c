// TrainingBench: how fast a model learns on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/run/bench.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::fit {

// Steps on noise, with a rate that leaves the weights nearly where they are. Not thread-safe.
class TrainingBench {
 public:
  struct Options {
    int64_t memory_bytes = 0;  // of all values of a step; 0: any
    bool bf16 = false;         // activations in half the memory
    bool update_on_device = false;
  };
  // Of batches of which the network is a graph for. Fails as Trainer::create(). REQUIRES: `device`
  // outlives it.
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
