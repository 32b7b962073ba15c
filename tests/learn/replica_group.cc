#include "replica_group.h"

#include <algorithm>
#include <numeric>

namespace shoal::learn {
namespace {

// Micro-batch `number` of so many, along the first axis.
Tensor micro_batch(const Tensor& batch, int64_t number, int64_t count) {
  Region region = Region::whole(batch.shape());
  const int64_t size = batch.shape()[0] / count;
  region.begin[0] = number * size;
  region.end[0] = (number + 1) * size;
  return crop(batch, region);
}

}  // namespace

Result<ReplicaGroup> ReplicaGroup::create(Device& device, const Graph& network,
                                          const train::TrainerOptions& options,
                                          const GroupOptions& group) {
  const auto total = std::accumulate(group.shares.begin(), group.shares.end(), int64_t{0});
  const bool has_negative = std::ranges::any_of(group.shares, [](int64_t s) { return s < 0; });
  if (has_negative || total != group.exchange.micro_batches()) {
    return invalid("the shares are not the micro-batches of a step");
  }
  std::vector<Replica> replicas;
  for (size_t worker = 0; worker < group.shares.size(); ++worker) {
    ExchangeOptions exchange = group.exchange;
    exchange.codec.seed += worker;  // workers round independently of each other
    SHOAL_ASSIGN(Replica replica, Replica::create(device, network, options, exchange));
    replicas.push_back(std::move(replica));
  }
  SHOAL_ASSIGN(Merger merger, Merger::create(group.exchange, step_types_of(replicas[0].trainer())));
  return ReplicaGroup(std::move(replicas), std::move(merger), group);
}

Result<ReplicaGroup::Step> ReplicaGroup::step(const Tensor& inputs, std::span<const Tensor> targets,
                                              double rate_factor) {
  const int64_t count = options_.exchange.micro_batches();
  Step step;
  int64_t number = 0;
  for (size_t worker = 0; worker < replicas_.size(); ++worker) {
    if (options_.shares[worker] == 0) continue;
    for (int64_t i = 0; i < options_.shares[worker]; ++i, ++number) {
      std::vector<Tensor> parts;
      for (const Tensor& target : targets) parts.push_back(micro_batch(target, number, count));
      SHOAL_TRY(replicas_[worker].compute(number, micro_batch(inputs, number, count), parts));
    }
    SHOAL_ASSIGN(const Contribution contribution, replicas_[worker].push());
    step.sent_bytes = std::max(step.sent_bytes, contribution.message.size());
    SHOAL_TRY(merger_.add(contribution));
  }
  SHOAL_ASSIGN(const Merger::Merged merged, merger_.finish());
  step.loss = merged.loss;
  step.received_bytes = merged.message.size();
  for (size_t worker = 0; worker < replicas_.size(); ++worker) {
    SHOAL_ASSIGN(const uint64_t hash, replicas_[worker].pull(merged.message, rate_factor));
    if (worker == 0) step.hash = hash;
    if (hash == step.hash) continue;
    return Status(Code::kInternal,
                  "the weights of replica " + std::to_string(worker) + " differ from the others'");
  }
  return step;
}

}  // namespace shoal::learn
