// ReplicaGroup: data-parallel training in one process. Every worker of a cluster is a Replica, the
// hub a Merger; they exchange encoded bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/train/distributed/exchange/merger.h"
#include "shoal/train/distributed/exchange/replica.h"

namespace shoal::learn {

struct GroupOptions {
  ExchangeOptions exchange = {};
  std::vector<int64_t> shares = {};  // micro-batches of each worker
};

// Not thread-safe.
class ReplicaGroup {
 public:
  // `network` is for one micro-batch. kInvalidArgument if the shares do not add up to the
  // micro-batches of a step. REQUIRES: `device` outlives it.
  static Result<ReplicaGroup> create(Device& device, const Graph& network,
                                     const train::TrainerOptions& options,
                                     const GroupOptions& group);

  struct Step {
    double loss = 0;
    uint64_t hash = 0;          // of the weights after the step, which all replicas have
    size_t sent_bytes = 0;      // by the worker that sends the most
    size_t received_bytes = 0;  // by each worker
  };
  // One step on a batch: the first axis of inputs and targets is cut into micro-batches. kInternal,
  // naming the replica, if its weights differ from the first one's.
  Result<Step> step(const Tensor& inputs, std::span<const Tensor> targets, double rate_factor = 1);

  Replica& replica(size_t worker) { return replicas_[worker]; }
  Merger& merger() { return merger_; }

 private:
  ReplicaGroup(std::vector<Replica> replicas, Merger merger, GroupOptions options)
      : options_(std::move(options)), replicas_(std::move(replicas)), merger_(std::move(merger)) {}

  GroupOptions options_;
  std::vector<Replica> replicas_;
  Merger merger_;
};

}  // namespace shoal::learn
