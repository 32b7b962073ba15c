// Replica: a worker's copy of the network in distributed training.
//
// A step: compute() for each of the worker's micro-batches; push() returns what the hub merges;
// pull() applies the merged gradients. All replicas apply the same bytes, so their weights stay
// equal bit by bit; pull() returns a hash to check it.
//
// Local steps (DiLoCo: Douillard et al. 2023), of a worker with n of the N micro-batches:
//
//   v = w, and H times: v follows the mean gradient of its n micro-batches, by the trainer's rule
//   push: n / N (w - v)              pull: w follows the sum, by Nesterov momentum (OuterRule)
//
// The trainer's rule begins anew in each round, so a checkpoint between rounds holds only w and the
// outer rule's state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/train/distributed/exchange/merger.h"
#include "shoal/train/distributed/exchange/step_codec.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::learn {

// A hash of all weights and statistics.
uint64_t hash_of_learned(const train::Trainer& trainer);
// The types of the tensors that a trainer's steps exchange.
StepTypes step_types_of(const train::Trainer& trainer);

// Not thread-safe.
class Replica {
 public:
  // `network` is for one micro-batch. Fails as Trainer and StepCodec do. REQUIRES: `device`
  // outlives it, and the update is not on the device.
  static Result<Replica> create(Device& device, const Graph& network,
                                const train::TrainerOptions& options,
                                const ExchangeOptions& exchange);

  // How the next step treats statistics; they follow unless called.
  void begin_step(StatisticsUse use);
  // Computes micro-batch `number` of the step. Fails as Trainer::compute() does, and with
  // kInvalidArgument if the step has no such micro-batch or has had it. Dropout differs between
  // `local` steps.
  Status compute(int64_t number, const Tensor& inputs, std::span<const Tensor> targets,
                 int64_t local = 0);
  // Applies the mean gradient of all micro-batches since the last step or push. push() then returns
  // the change since the first of these steps. Fails as push().
  Status step_locally(double rate_factor);
  // The sums of all micro-batches since the last push. kInvalidArgument if they are not contiguous,
  // or a gradient is NaN.
  Result<Contribution> push();
  // Applies the merged message and returns the hash of the weights. kCorrupt, and nothing changes,
  // for a message that no hub sends. REQUIRES: the same outer rule every time.
  Result<uint64_t> pull(std::span<const std::byte> merged, double rate_factor = 1,
                        const OuterRule& outer = {}, StatisticsUse use = StatisticsUse::follows());
  // The hub did not wait for this contribution: its gradients are sent with the next.
  Status carry(const Contribution& late);
  // The same for the micro-batches since the last push; of local steps only complete ones.
  Status carry_unsent(bool is_local = false);
  // Discards the micro-batches since the last push: the step restarts with other shares.
  void abandon();

  // The state between two steps without the codec's: the trainer's and the outer rule's. Shares
  // memory with the replica. restore() fails as Trainer::restore().
  std::map<std::string, Tensor> state() const;
  Status restore(const std::map<std::string, Tensor>& state);

  int64_t micro_batches() const { return exchange_.micro_batches(); }  // of a step
  train::Trainer& trainer() { return trainer_; }
  const train::Trainer& trainer() const { return trainer_; }
  StepCodec& codec() { return codec_; }  // of sent messages

 private:
  Replica(train::Trainer trainer, StepCodec codec, StepCodec merged,
          const ExchangeOptions& exchange, std::vector<double> momenta)
      : exchange_(exchange),
        momenta_(std::move(momenta)),
        trainer_(std::move(trainer)),
        codec_(std::move(codec)),
        merged_(std::move(merged)),
        sum_(exchange.levels) {}

  // A round of local steps.
  struct Round {
    std::map<std::string, Tensor> state = {};  // of the trainer, before the round
    int64_t first = 0, end = 0;                // micro-batches of each step
    double loss = 0, steps = 0;
  };
  Result<std::pair<int64_t, int64_t>> range() const;
  std::vector<Tensor> total() const;
  std::vector<Tensor> learned_in_round() const;
  Status end_round();
  Result<Contribution> push_round();
  Status follow(std::span<const Tensor> tensors, const OuterRule& outer);
  void take_statistics(std::span<const Tensor> merged, StatisticsUse use);

  ExchangeOptions exchange_;
  std::vector<double> momenta_;  // of the statistics, in their norms
  train::Trainer trainer_;
  StepCodec codec_, merged_;
  TreeSum sum_;
  StatisticsUse use_ = StatisticsUse::follows();  // in this step
  double loss_ = 0;
  std::optional<Round> round_;
  std::optional<train::Optimizer> outer_;    // nullopt before the first pull
  std::map<std::string, Tensor> was_outer_;  // its restored state
};

}  // namespace shoal::learn
