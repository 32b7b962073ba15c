#include "shoal/learn/exchange/replica.h"

#include "shoal/base/hash.h"

namespace shoal::learn {

uint64_t hash_of_learned(const train::Trainer& trainer) {
  std::vector<uint64_t> hashes;
  for (const auto& [name, tensor] : trainer.learned()) hashes.push_back(hash_of(tensor.bytes()));
  return hash_of(std::as_bytes(std::span(hashes)));
}

StepTypes step_types_of(const train::Trainer& trainer) {
  StepTypes types;
  for (const Tensor& weight : trainer.weights()) types.gradients.push_back(weight.type());
  for (const Tensor& statistic : trainer.statistics()) types.statistics.push_back(statistic.type());
  return types;
}

Result<Replica> Replica::create(Device& device, const Graph& network,
                                const train::TrainerOptions& options,
                                const ExchangeOptions& exchange) {
  SHOAL_CHECK(!options.update_on_device);
  if (exchange.levels < 0 || exchange.levels > 20) {
    return invalid("a step has 1 to 2^20 micro-batches");
  }
  SHOAL_ASSIGN(train::Trainer trainer, train::Trainer::create(device, network, options));
  SHOAL_ASSIGN(StepCodec codec, StepCodec::create(exchange.codec, step_types_of(trainer)));
  SHOAL_ASSIGN(StepCodec merged, StepCodec::create(exchange.codec, step_types_of(trainer)));
  return Replica(std::move(trainer), std::move(codec), std::move(merged), exchange);
}

// Each micro-batch is divided by the number of all, a power of two, before anything is added: its
// bits do not depend on who computes it.
Status Replica::compute(int64_t number, const Tensor& inputs, std::span<const Tensor> targets) {
  const auto scale = 1.0f / static_cast<float>(exchange_.micro_batches());
  SHOAL_ASSIGN(const float loss, trainer_.compute(inputs, targets, static_cast<uint64_t>(number)));
  std::vector<Tensor> tensors;
  for (const Tensor& gradient : trainer_.gradients()) tensors.push_back(gradient.clone());
  for (const Tensor& statistic : trainer_.measured()) tensors.push_back(statistic.clone());
  scale_tensors(tensors, scale);
  SHOAL_TRY(sum_.add({0, number}, std::move(tensors)));
  loss_ += double{loss} * double{scale};
  return {};
}

Result<Contribution> Replica::push() {
  const auto& nodes = sum_.nodes();
  if (nodes.empty()) return invalid("there is no micro-batch to send");
  Contribution contribution{
      .first = nodes.begin()->first, .end = nodes.rbegin()->second.first.end(), .loss = loss_};
  if (contribution.end - contribution.first != sum_.leaves()) {
    return invalid("the micro-batches of a worker are not one after the other");
  }
  std::vector<Tensor> total;
  for (const auto& [first, node] : nodes) {
    if (codec_.is_exact()) {
      SHOAL_TRY(codec_.encode(node.second, contribution.message));
    } else if (total.empty()) {
      total = node.second;
    } else {
      add_tensors(total, node.second);
    }
  }
  if (!codec_.is_exact()) SHOAL_TRY(codec_.encode(total, contribution.message));
  abandon();
  return contribution;
}

void Replica::abandon() {
  sum_.clear();
  loss_ = 0;
}

Result<uint64_t> Replica::pull(std::span<const std::byte> merged, double rate_factor) {
  SHOAL_ASSIGN(const std::vector<Tensor> tensors, merged_.decode(merged));
  size_t i = 0;
  for (Tensor& gradient : trainer_.gradients()) gradient = tensors[i++];
  for (Tensor& statistic : trainer_.measured()) statistic = tensors[i++];
  SHOAL_TRY(trainer_.update(rate_factor));
  return hash_of_learned(trainer_);
}

Status Replica::carry(const Contribution& late) {
  const size_t bytes = codec_.bytes();
  std::span<const std::byte> message = late.message;
  for (; message.size() >= bytes && bytes > 0; message = message.subspan(bytes)) {
    SHOAL_ASSIGN(const std::vector<Tensor> tensors, codec_.decode(message.first(bytes)));
    SHOAL_TRY(codec_.carry(tensors));
  }
  return {};
}

Status Replica::carry_unsent() {
  for (const auto& [first, node] : sum_.nodes()) SHOAL_TRY(codec_.carry(node.second));
  abandon();
  return {};
}

}  // namespace shoal::learn
