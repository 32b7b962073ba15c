#include "shoal/train/distributed/exchange/step_codec.h"

namespace shoal::learn {

Result<StepCodec> StepCodec::create(const CodecOptions& options, StepTypes types) {
  SHOAL_ASSIGN(GradientCodec gradients, GradientCodec::create(options, types.gradients));
  SHOAL_ASSIGN(GradientCodec statistics, GradientCodec::create({}, types.statistics));
  return StepCodec(std::move(gradients), std::move(statistics), std::move(types));
}

// Statistics come first: they can be refused, too, and have no state that had to be undone.
Status StepCodec::encode(std::span<const Tensor> tensors, std::vector<std::byte>& message,
                         bool with_statistics) {
  const size_t count = types_.gradients.size();
  std::vector<std::byte> encoded(bytes(with_statistics));
  const std::span<std::byte> to = encoded;
  const size_t before = to.size() - gradients_.bytes();
  if (with_statistics) SHOAL_TRY(statistics_.encode(tensors.subspan(count), to.first(before)));
  SHOAL_TRY(gradients_.encode(tensors.first(count), to.subspan(before)));
  message.insert(message.end(), encoded.begin(), encoded.end());
  return {};
}

Result<std::vector<Tensor>> StepCodec::decode(std::span<const std::byte> message,
                                              bool with_statistics) {
  if (message.size() != bytes(with_statistics)) {
    return Status(Code::kCorrupt, "a message of " + std::to_string(message.size()) +
                                      " bytes, should have " +
                                      std::to_string(bytes(with_statistics)));
  }
  std::vector<Tensor> tensors;
  for (const TensorType& type : types_.gradients) tensors.push_back(Tensor::uninitialized(type));
  for (const TensorType& type : types_.statistics) tensors.emplace_back(type);
  const size_t count = types_.gradients.size();
  const std::span<Tensor> all = tensors;
  const size_t before = message.size() - gradients_.bytes();
  if (with_statistics) SHOAL_TRY(statistics_.decode(message.first(before), all.subspan(count)));
  SHOAL_TRY(gradients_.decode(message.subspan(before), all.first(count)));
  return tensors;
}

Status StepCodec::carry(std::span<const Tensor> tensors) {
  return gradients_.carry(tensors.first(types_.gradients.size()));
}

}  // namespace shoal::learn
