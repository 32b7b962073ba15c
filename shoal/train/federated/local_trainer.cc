#include "shoal/train/federated/local_trainer.h"

#include <algorithm>

#include "shoal/base/math/random.h"

namespace shoal::federated {

uint64_t client_seed(uint64_t seed, uint64_t round, uint64_t client) {
  constexpr uint64_t kClients = 0x636c6e74;  // a stream of its own ("clnt")
  return RandomStream(seed, kClients).child(round)[client];
}

size_t batches_per_epoch(size_t examples, size_t batch) {
  return std::max<size_t>(examples / batch, 1);
}

LocalTrainer::LocalTrainer(train::Trainer trainer) : trainer_(std::move(trainer)) {
  const Weights learned = trainer_.learned();
  for (const auto& [name, tensor] : trainer_.state()) {
    if (!learned.contains(name)) counters_.push_back(name);
  }
}

// A state without steps of the optimiser is that before the first. Clients of a round drop other
// elements each: the stream goes on from a place that the seed decides.
Status LocalTrainer::restart(uint64_t seed) {
  constexpr int kSpare = 16;  // bits, for the steps
  Weights state = from_;
  for (const std::string& name : counters_) {
    state[name] = Tensor::of<int64_t>({}, {static_cast<int64_t>(seed >> kSpare)});
  }
  return trainer_.restore(state);
}

Result<LocalTrainer> LocalTrainer::create(Device& device, const Graph& network,
                                          const train::TrainerOptions& options) {
  SHOAL_ASSIGN(train::Trainer trainer, train::Trainer::create(device, network, options));
  return LocalTrainer(std::move(trainer));
}

// The gradient of mu/2 |v - w|^2.
void LocalTrainer::add_proximal() {
  for (size_t i = 0; i < parameters().size(); ++i) {
    const auto begin = from_.at(parameters()[i]).data<float>();
    const auto now = trainer_.weights()[i].data<float>();
    const auto gradient = trainer_.gradients()[i].data<float>();
    for (size_t k = 0; k < gradient.size(); ++k) gradient[k] += how_.mu * (now[k] - begin[k]);
  }
}

Status LocalTrainer::begin(Weights from, const LocalSteps& how) {
  from_ = std::move(from);
  how_ = how;
  steps_ = 0;
  losses_ = 0;
  return restart(how.seed);
}

Status LocalTrainer::step(const Batches& batches) {
  const auto per_epoch = static_cast<int64_t>(std::max<size_t>(batches.per_epoch(), 1));
  SHOAL_ASSIGN(const Batch batch, batches.at(static_cast<uint64_t>(steps_ / per_epoch),
                                             static_cast<size_t>(steps_ % per_epoch)));
  SHOAL_ASSIGN(const float loss, trainer_.compute(batch.images, std::span(&batch.labels, 1)));
  // Without the term not even a zero is added, so that FedAvg is the same bit by bit.
  if (how_.mu > 0) add_proximal();
  SHOAL_TRY(trainer_.update(how_.rate_factor));
  losses_ += static_cast<double>(loss);
  ++steps_;
  return {};
}

Result<double> LocalTrainer::run(const Weights& from, const Batches& batches,
                                 const LocalSteps& how) {
  SHOAL_TRY(begin(from, how));
  while (steps_ < how.steps) SHOAL_TRY(step(batches));
  from_.clear();
  return mean_loss();
}

}  // namespace shoal::federated
