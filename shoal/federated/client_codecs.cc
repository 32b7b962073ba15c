#include "shoal/federated/client_codecs.h"

#include <algorithm>

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

Result<ClientCodecs> ClientCodecs::create(const learn::CodecOptions& options,
                                          const Weights& weights,
                                          const std::vector<std::string>& learned) {
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
  return shared_->states.size();
}

// Clients round independently of each other: each has a seed of its own.
Result<learn::StepCodec> ClientCodecs::codec_of(uint64_t client) const {
  learn::CodecOptions own = options_;
  own.seed += client;
  SHOAL_ASSIGN(learn::StepCodec codec, learn::StepCodec::create(own, types_));
  const std::lock_guard lock(shared_->mutex);
  const auto found = shared_->states.find(client);
  if (found != shared_->states.end()) SHOAL_TRY(codec.gradients().restore(found->second));
  return codec;
}

Result<Weights> ClientCodecs::send(uint64_t client, const Weights& from, const Weights& to) {
  SHOAL_ASSIGN(learn::StepCodec codec, codec_of(client));
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
  State state = codec.gradients().state();
  const std::lock_guard lock(shared_->mutex);
  shared_->states[client] = std::move(state);
  return received;
}

}  // namespace shoal::federated
