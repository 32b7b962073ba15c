#include "shoal/train/federated/client_codecs.h"

#include <algorithm>

#include "shoal/train/federated/local_trainer.h"

namespace shoal::federated {
namespace {

// a - b
Tensor difference(const Tensor& a, const Tensor& b) {
  Tensor result = a.clone();
  const auto to = result.data<float>();
  const auto from = b.data<float>();
  for (size_t i = 0; i < to.size(); ++i) to[i] -= from[i];
  return result;
}

}  // namespace

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
  const auto found = shared_->clients.find(client);
  const bool is_fresh = found != shared_->clients.end() && round - found->second.round <= kMostAge;
  if (is_fresh) SHOAL_TRY(codec.gradients().restore(found->second.state));
  return codec;
}

// Of codecs that carry nothing there is nothing to keep.
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
