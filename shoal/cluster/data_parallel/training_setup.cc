// Constants that are not inline have no names: both ends visit them in the same order, and the
// reader takes as many bytes of the payload as the type says.
#include "shoal/cluster/data_parallel/training_setup.h"

#include <algorithm>
#include <set>

#include "shoal/base/limits.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/messages/wire.h"
#include "training.pb.h"

namespace shoal::cluster {
namespace {

using OptimizerRule = train::OptimizerOptions::Rule;
using LossKind = train::Loss::Kind;

Status corrupt_setup() { return Status(Code::kCorrupt, "a training setup that cannot be read"); }

void encode(const train::OptimizerOptions& from, message::TrainingSetup::Optimizer& to) {
  to.set_rule(static_cast<uint32_t>(from.rule));
  to.set_rate(from.rate);
  to.set_momentum(from.momentum);
  to.set_nesterov(from.nesterov);
  to.set_beta1(from.beta1);
  to.set_beta2(from.beta2);
  to.set_epsilon(from.epsilon);
  to.set_weight_decay(from.weight_decay);
  to.set_max_norm(from.max_norm);
}

Result<train::OptimizerOptions> decode(const message::TrainingSetup::Optimizer& from) {
  if (from.rule() > static_cast<uint32_t>(OptimizerRule::kAdamW)) return corrupt_setup();
  return train::OptimizerOptions{.rule = static_cast<OptimizerRule>(from.rule()),
                                 .rate = from.rate(),
                                 .momentum = from.momentum(),
                                 .nesterov = from.nesterov(),
                                 .beta1 = from.beta1(),
                                 .beta2 = from.beta2(),
                                 .epsilon = from.epsilon(),
                                 .weight_decay = from.weight_decay(),
                                 .max_norm = from.max_norm()};
}

void encode(const train::Loss& from, message::TrainingSetup::Loss& to) {
  to.set_kind(static_cast<uint32_t>(from.kind));
  to.set_soft(from.soft);
  to.set_smoothing(from.smoothing);
  to.set_focal(from.focal);
  to.set_distill(from.distill);
  to.set_temperature(from.temperature);
}

Result<train::Loss> decode(const message::TrainingSetup::Loss& from) {
  if (from.kind() > static_cast<uint32_t>(LossKind::kMeanSquare)) return corrupt_setup();
  return train::Loss{.kind = static_cast<LossKind>(from.kind()),
                     .soft = from.soft(),
                     .smoothing = from.smoothing(),
                     .focal = from.focal(),
                     .distill = from.distill(),
                     .temperature = from.temperature()};
}

void encode(const learn::CodecOptions& from, message::TrainingSetup::Codec& to) {
  to.set_kind(static_cast<uint32_t>(from.kind));
  to.set_feedback(from.feedback);
  to.set_qsgd_bits(from.qsgd_bits);
  to.set_rank(from.rank);
  to.set_density(from.density);
  to.set_momentum(from.momentum);
  to.set_seed(from.seed);
}

Result<learn::CodecOptions> decode(const message::TrainingSetup::Codec& from) {
  if (from.kind() >= learn::all_codecs().size()) return corrupt_setup();
  return learn::CodecOptions{.kind = static_cast<learn::CodecKind>(from.kind()),
                             .feedback = from.feedback(),
                             .qsgd_bits = from.qsgd_bits(),
                             .rank = from.rank(),
                             .density = from.density(),
                             .momentum = from.momentum(),
                             .seed = from.seed()};
}

}  // namespace

std::vector<net::Bytes> EncodedSetup::pieces() const {
  std::vector<net::Bytes> pieces{bytes_of(message)};
  for (const Tensor& tensor : constants) pieces.push_back(tensor.bytes());
  return pieces;
}

Result<EncodedSetup> encode_setup(const TrainingSetup& setup) {
  const train::TrainerOptions& trainer = setup.trainer;
  if (!trainer.regularizers.empty() || trainer.unit_penalty ||
      !trainer.step.output_weights.empty()) {
    return Status(Code::kUnsupported,
                  "penalties and several outputs cannot be trained by the workers of a cluster");
  }
  EncodedSetup encoded;
  message::TrainingSetup message;
  encode(setup.network, *message.mutable_network(), [&](const Tensor& tensor) {
    encoded.constants.push_back(tensor);
    return Hash(kHashBytes, '\0');
  });
  encode(trainer.optimizer, *message.mutable_optimizer());
  encode(trainer.step.loss, *message.mutable_loss());
  encode(setup.exchange.codec, *message.mutable_codec());
  for (const ValueId id : train::learned_values(setup.network)) {
    const std::string& name = setup.network[id].name;
    if (trainer.step.frozen && trainer.step.frozen(name)) message.add_frozen(name);
  }
  message.set_bf16(trainer.bf16);
  message.set_memory_bytes(trainer.memory_bytes);
  message.set_seed(trainer.seed);
  message.set_levels(static_cast<uint32_t>(setup.exchange.levels));
  encoded.message = message.SerializeAsString();
  return encoded;
}

std::string EncodedSetup::header() const {
  message::TrainingHeader header;
  header.mutable_begin()->set_setup_bytes(message.size());
  return header.SerializeAsString();
}

Result<TrainingSetup> decode_setup(net::Bytes header_bytes, net::Bytes payload) {
  constexpr uint32_t kMostLevels = 20;
  message::TrainingHeader header;
  if (!header.ParseFromArray(header_bytes.data(), static_cast<int>(header_bytes.size())) ||
      !header.has_begin()) {
    return corrupt_setup();
  }
  const uint64_t message_bytes = header.begin().setup_bytes();
  if (message_bytes > payload.size() || message_bytes > kLimits.max_structure_bytes) {
    return corrupt_setup();
  }
  message::TrainingSetup message;
  if (!message.ParseFromArray(payload.data(), static_cast<int>(message_bytes)) ||
      message.levels() > kMostLevels || message.memory_bytes() < 0) {
    return corrupt_setup();
  }
  payload = payload.subspan(message_bytes);
  TrainingSetup setup;
  SHOAL_ASSIGN(setup.network, decode(message.network(), [&](const Hash&, const TensorType& type) {
                 if (type.bytes() > payload.size()) return Tensor();
                 Tensor tensor = Tensor::uninitialized(type);
                 std::ranges::copy(payload.first(type.bytes()), tensor.bytes().begin());
                 payload = payload.subspan(type.bytes());
                 return tensor;
               }));
  if (!payload.empty()) return corrupt_setup();
  SHOAL_ASSIGN(setup.trainer.optimizer, decode(message.optimizer()));
  SHOAL_ASSIGN(setup.trainer.step.loss, decode(message.loss()));
  SHOAL_ASSIGN(setup.exchange.codec, decode(message.codec()));
  const std::set<std::string, std::less<>> frozen(message.frozen().begin(), message.frozen().end());
  setup.trainer.step.frozen = [frozen](std::string_view name) { return frozen.contains(name); };
  setup.trainer.bf16 = message.bf16();
  setup.trainer.memory_bytes = message.memory_bytes();
  setup.trainer.seed = message.seed();
  setup.exchange.levels = static_cast<int>(message.levels());
  return setup;
}

Result<std::vector<TensorType>> types_of_examples(const TrainingSetup& setup) {
  const Graph& network = setup.network;
  if (network.inputs().size() != 1 || network.outputs().size() != 1) {
    return invalid("only networks with one input and one output can be trained");
  }
  const bool of_classes = setup.trainer.step.loss.kind == LossKind::kCrossEntropy;
  const ValueId scores = of_classes ? train::scores_of(network) : network.outputs()[0];
  SHOAL_ASSIGN(const std::vector<train::Target> targets,
               train::targets_of(setup.trainer.step.loss, network[scores].type));
  std::vector<TensorType> types{network[network.inputs()[0]].type};
  for (const train::Target& target : targets) types.push_back(target.type);
  return types;
}

}  // namespace shoal::cluster
