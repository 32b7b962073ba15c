// Replica: a worker's copy of the network, which learns together with others.
//
// A step: compute() for each of the worker's micro-batches; push() gives what the hub merges;
// pull() takes the merged gradients and updates the weights. All replicas apply the same bytes, so
// that their weights stay equal bit by bit; the hash that pull() returns tells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/learn/exchange/contribution.h"
#include "shoal/learn/exchange/step_codec.h"
#include "shoal/learn/exchange/tree_sum.h"
#include "shoal/train/trainer.h"

namespace shoal::learn {

// A hash of all weights and statistics.
uint64_t hash_of_learned(const train::Trainer& trainer);
// The types of what the steps of a trainer exchange.
StepTypes step_types_of(const train::Trainer& trainer);

// Not thread-safe.
class Replica {
 public:
  // `network` is for one micro-batch. Fails as Trainer and StepCodec do. REQUIRES: `device`
  // outlives it, and the update is not on the device.
  static Result<Replica> create(Device& device, const Graph& network,
                                const train::TrainerOptions& options,
                                const ExchangeOptions& exchange);

  // Computes a micro-batch of the step, by its number. Fails as Trainer::compute() does, and with
  // kInvalidArgument where this step has no such micro-batch or has had it.
  Status compute(int64_t number, const Tensor& inputs, std::span<const Tensor> targets);
  // The sums of all micro-batches since the last push. kInvalidArgument where they are not one
  // after the other, or a gradient is no number.
  Result<Contribution> push();
  // Applies the merged message and returns the hash of the weights. kCorrupt, and nothing changes,
  // for a message that no hub has sent.
  Result<uint64_t> pull(std::span<const std::byte> merged, double rate_factor = 1);
  // The hub did not wait for this: its gradients are sent with the next.
  Status carry(const Contribution& late);
  // The same of the micro-batches since the last push: the hub did not wait for them either.
  Status carry_unsent();
  // Forgets the micro-batches since the last push: the step begins again, with other shares.
  void abandon();

  int64_t micro_batches() const { return exchange_.micro_batches(); }  // of a step
  train::Trainer& trainer() { return trainer_; }
  const train::Trainer& trainer() const { return trainer_; }
  StepCodec& codec() { return codec_; }  // of what it sends

 private:
  Replica(train::Trainer trainer, StepCodec codec, StepCodec merged,
          const ExchangeOptions& exchange)
      : exchange_(exchange),
        trainer_(std::move(trainer)),
        codec_(std::move(codec)),
        merged_(std::move(merged)),
        sum_(exchange.levels) {}

  ExchangeOptions exchange_;
  train::Trainer trainer_;
  StepCodec codec_, merged_;
  TreeSum sum_;
  double loss_ = 0;
};

}  // namespace shoal::learn
