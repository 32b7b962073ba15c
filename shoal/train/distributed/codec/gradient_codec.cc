#include "shoal/train/distributed/codec/gradient_codec.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/train/distributed/codec/kernels.h"
#include "shoal/train/step/optimizer/step_count.h"

namespace shoal::learn {
namespace {

constexpr const char* kSteps = "codec.steps";
// Streams of random numbers that nothing else draws from ("roun", "basi").
constexpr uint64_t kRounding = 0x726f756e, kBasis = 0x62617369;

constexpr std::array kKinds = {CodecKind::kF32,      CodecKind::kF16,  CodecKind::kInt8,
                               CodecKind::kOneBit,   CodecKind::kTern, CodecKind::kQsgd,
                               CodecKind::kPowerSgd, CodecKind::kTopK, CodecKind::kDrive};
constexpr std::array<std::string_view, kKinds.size()> kNames = {
    "f32", "f16", "int8", "1bit", "tern", "qsgd", "powersgd", "topk", "drive"};

std::string error_name(size_t slot) { return "codec.error." + std::to_string(slot); }
std::string memory_name(const std::string& role, size_t slot) {
  return "codec." + role + "." + std::to_string(slot);
}

Status check_options(const CodecOptions& options) {
  if (options.qsgd_bits < 2 || options.qsgd_bits > 7) {
    return invalid("qsgd has 2 to 7 bits an element, not " + std::to_string(options.qsgd_bits));
  }
  if (options.rank < 1 || options.rank > 64) {
    return invalid("powersgd has rank 1 to 64, not " + std::to_string(options.rank));
  }
  if (!(options.density > 0 && options.density <= 1)) {
    return invalid("the density of topk is above 0 and at most 1");
  }
  if (!(options.momentum >= 0 && options.momentum < 1)) {
    return invalid("the momentum of topk is at least 0 and below 1");
  }
  return {};
}

}  // namespace

std::string_view name_of(CodecKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<CodecKind> find_codec(std::string_view name) {
  const auto position = std::ranges::find(kNames, name);
  if (position == kNames.end()) return std::nullopt;
  return kKinds[static_cast<size_t>(position - kNames.begin())];
}

std::span<const CodecKind> all_codecs() { return kKinds; }

Groups groups_of(const Shape& shape) {
  const auto count = static_cast<size_t>(shape.count());
  const size_t groups = shape.rank() < 2 ? 1 : static_cast<size_t>(shape[0]);
  return {groups, count / groups};
}

Status corrupt_gradient() { return Status(Code::kCorrupt, "a gradient that no codec has written"); }

std::unique_ptr<TensorCodec> make_tensor_codec(const CodecOptions& options, const Shape& shape,
                                               uint64_t number) {
  switch (options.kind) {
    case CodecKind::kF32:
      break;
    case CodecKind::kF16:
      return make_f16_codec(shape);
    case CodecKind::kInt8:
      return make_int8_codec(shape);
    case CodecKind::kOneBit:
      return make_sign_codec(shape);
    case CodecKind::kTern:
      return make_terngrad_codec(shape);
    case CodecKind::kQsgd:
      return make_qsgd_codec(shape, options.qsgd_bits);
    case CodecKind::kPowerSgd:
      return make_power_codec(shape, static_cast<size_t>(options.rank),
                              RandomStream(options.seed, kBasis).child(number));
    case CodecKind::kTopK:
      return make_top_codec(shape, options.density, options.momentum);
    case CodecKind::kDrive:
      return make_drive_codec(shape);
  }
  return make_f32_codec(shape);
}

Result<GradientCodec> GradientCodec::create(const CodecOptions& options,
                                            std::span<const TensorType> types) {
  SHOAL_TRY(check_options(options));
  GradientCodec codec;
  codec.options_ = options;
  for (const TensorType& type : types) {
    // Indices of topk, and positions in the random stream, have 32 bits.
    const bool is_possible = type.dtype == DType::kF32 && type.shape.count() > 0 &&
                             type.shape.count() < int64_t{1} << 31;
    if (!is_possible) {
      return Status(Code::kUnsupported, "no codec for gradients " + to_string(type));
    }
    Slot slot{type, make_tensor_codec(options, type.shape, codec.slots_.size()), {}};
    if (slot.codec->has_error()) slot.error = Tensor(type);
    codec.bytes_ += slot.codec->bytes();
    codec.slots_.push_back(std::move(slot));
  }
  return codec;
}

// All tensors are checked before the first changes the state.
Status GradientCodec::check_elements(std::span<const Tensor> gradients) const {
  SHOAL_CHECK(gradients.size() == slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    SHOAL_CHECK(gradients[i].type() == slots_[i].type);
    if (is_within(gradients[i].data<float>(), kLargestGradient)) continue;
    return invalid("gradients are no numbers; a lower rate or clipped gradients may help");
  }
  return {};
}

Status GradientCodec::encode(std::span<const Tensor> gradients, std::span<std::byte> to) {
  SHOAL_CHECK(to.size() == bytes_);
  SHOAL_TRY(check_elements(gradients));
  const RandomStream step =
      RandomStream(options_.seed, kRounding).child(static_cast<uint64_t>(steps_++));
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    std::span<const float> gradient = gradients[i].data<float>();
    std::span<float> error;
    if (slot.error.defined()) error = slot.error.data<float>();
    const bool adds_late = !error.empty() && !slot.codec->has_error();
    if (adds_late) {
      add_scaled(error, 1, gradient);
      gradient = error;
    }
    workspace_.random = step.child(i);
    slot.codec->encode(gradient, adds_late ? std::span<float>() : error, workspace_,
                       to.first(slot.codec->bytes()));
    to = to.subspan(slot.codec->bytes());
    if (adds_late) slot.error = {};
    if (slot.codec->has_error() && !options_.feedback) std::ranges::fill(error, 0.0f);
  }
  return {};
}

Status GradientCodec::decode(std::span<const std::byte> from, std::span<Tensor> to) {
  SHOAL_CHECK(to.size() == slots_.size());
  if (from.size() != bytes_) {
    return Status(Code::kCorrupt, "a gradient of " + std::to_string(from.size()) +
                                      " bytes, should have " + std::to_string(bytes_));
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    SHOAL_CHECK(to[i].type() == slots_[i].type);
    const size_t bytes = slots_[i].codec->bytes();
    SHOAL_TRY(slots_[i].codec->decode(from.first(bytes), workspace_, to[i].data<float>()));
    from = from.subspan(bytes);
  }
  return {};
}

Tensor& GradientCodec::error_of(Slot& slot) {
  if (!slot.error.defined()) slot.error = Tensor(slot.type);
  return slot.error;
}

Status GradientCodec::carry(std::span<const Tensor> gradients) {
  SHOAL_TRY(check_elements(gradients));
  for (size_t i = 0; i < slots_.size(); ++i) {
    add_scaled(error_of(slots_[i]).data<float>(), 1, gradients[i].data<float>());
  }
  return {};
}

double GradientCodec::carried_norm() const {
  double sum = 0;
  for (const Slot& slot : slots_) {
    if (!slot.error.defined()) continue;
    const std::span<const float> error = slot.error.data<float>();
    sum += double{dot(error, error)};
  }
  return std::sqrt(sum);
}

std::map<std::string, Tensor> GradientCodec::state() const {
  std::map<std::string, Tensor> state{{kSteps, Tensor::of<int64_t>({}, {steps_})}};
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].error.defined()) state[error_name(i)] = slots_[i].error;
    for (const auto& [role, tensor] : slots_[i].codec->memories()) {
      state[memory_name(role, i)] = tensor;
    }
  }
  return state;
}

// A checkpoint is input from outside: all of it is checked before anything is replaced.
Status GradientCodec::restore(const std::map<std::string, Tensor>& state) {
  SHOAL_ASSIGN(const int64_t steps, train::steps_from(state, kSteps));
  const auto find = [&](const std::string& name, const TensorType& type) -> const Tensor* {
    const auto position = state.find(name);
    const bool is_usable = position != state.end() && position->second.type() == type &&
                           is_within(position->second.data<float>(), kLargestDecoded);
    return is_usable ? &position->second : nullptr;
  };
  const auto lacks = [](const std::string& name) {
    return Status(Code::kCorrupt, "there is no " + name + " of this codec");
  };
  std::vector<std::pair<Tensor, const Tensor*>> copies;  // to, from
  std::vector<Tensor> errors(slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.codec->has_error() || state.contains(error_name(i))) {
      const Tensor* const error = find(error_name(i), slot.type);
      if (error == nullptr) return lacks(error_name(i));
      errors[i] = error->clone();
    }
    for (const auto& [role, tensor] : slot.codec->memories()) {
      const Tensor* const from = find(memory_name(role, i), tensor.type());
      if (from == nullptr) return lacks(memory_name(role, i));
      copies.emplace_back(tensor, from);
    }
  }
  for (auto& [to, from] : copies) std::ranges::copy(from->bytes(), to.bytes().begin());
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i].error = errors[i];
  steps_ = steps;
  return {};
}

}  // namespace shoal::learn
