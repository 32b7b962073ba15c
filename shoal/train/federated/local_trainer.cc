#include "shoal/train/federated/local_trainer.h"

#include <algorithm>

#include "shoal/base/math/random.h"

namespace shoal::federated {
namespace {

Tensor difference(const Tensor& a, const Tensor& b) {
  Tensor result = a.clone();
  const auto to = result.data<float>();
  const auto from = b.data<float>();
  for (size_t i = 0; i < to.size(); ++i) to[i] -= from[i];
  return result;
}

}  // namespace

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

Status LocalTrainer::begin(Weights from, const LocalSteps& local_steps) {
  from_ = std::move(from);
  how_ = local_steps;
  steps_ = 0;
  losses_ = 0;
  return restart(local_steps.seed);
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
                                 const LocalSteps& local_steps) {
  SHOAL_TRY(begin(from, local_steps));
  while (steps_ < local_steps.steps) SHOAL_TRY(step(batches));
  from_.clear();
  return mean_loss();
}

Result<ClientCodecs> ClientCodecs::create(const learn::CodecOptions& wanted, const Weights& weights,
                                          const std::vector<std::string>& learned) {
  learn::CodecOptions options = wanted;
  if (options.kind == learn::CodecKind::kOneBit) options.kind = learn::CodecKind::kDrive;
  learn::StepTypes types;
  std::vector<std::string> names = learned;
  for (const std::string& name : learned) types.gradients.push_back(weights.at(name).type());
  for (const auto& [name, tensor] : weights) {
    if (std::ranges::count(learned, name) > 0) continue;
    names.push_back(name);
    types.statistics.push_back(tensor.type());
  }
  SHOAL_ASSIGN(const learn::StepCodec like, learn::StepCodec::create(options, types));
  return ClientCodecs(options, std::move(types), std::move(names), like.bytes());
}

size_t ClientCodecs::clients() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->clients.size();
}

// Clients, and rounds of one, round independently of each other: each has a seed of its own.
Result<learn::StepCodec> ClientCodecs::codec_of(int64_t round, uint64_t client) const {
  learn::CodecOptions own = options_;
  own.seed = client_seed(options_.seed, static_cast<uint64_t>(round), client);
  SHOAL_ASSIGN(learn::StepCodec codec, learn::StepCodec::create(own, types_));
  const std::lock_guard lock(shared_->mutex);
  const auto position = shared_->clients.find(client);
  const bool is_fresh =
      position != shared_->clients.end() && round - position->second.round <= kMostAge;
  if (is_fresh) SHOAL_TRY(codec.gradients().restore(position->second.state));
  return codec;
}

void ClientCodecs::keep(int64_t round, uint64_t client, const learn::StepCodec& codec) {
  if (codec.gradients().carried_norm() == 0) return;
  const std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->clients,
                [&](const auto& one) { return round - one.second.round > kMostAge; });
  shared_->clients[client] = {round, codec.gradients().state()};
}

Result<Weights> ClientCodecs::send(int64_t round, uint64_t client, const Weights& from,
                                   const Weights& to) {
  SHOAL_ASSIGN(learn::StepCodec codec, codec_of(round, client));
  const size_t learned = types_.gradients.size();
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < names_.size(); ++i) {
    const Tensor& ends = to.at(names_[i]);
    tensors.push_back(i < learned ? difference(from.at(names_[i]), ends) : ends);
  }
  std::vector<std::byte> message;
  SHOAL_TRY(codec.encode(tensors, message));
  SHOAL_ASSIGN(const std::vector<Tensor> decoded, codec.decode(message));
  Weights received;
  for (size_t i = 0; i < names_.size(); ++i) {
    received[names_[i]] = i < learned ? difference(from.at(names_[i]), decoded[i]) : decoded[i];
  }
  keep(round, client, codec);
  return received;
}

}  // namespace shoal::federated
