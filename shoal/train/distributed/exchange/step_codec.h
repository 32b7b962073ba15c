// StepCodec: the contents of one message of a step. Gradients go through their codec; the few
// statistics of norms travel as f32, in the steps that need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shoal/train/distributed/codec/gradient_codec.h"

namespace shoal::learn {

// The tensors of a step, gradients first.
struct StepTypes {
  std::vector<TensorType> gradients, statistics;
};

// How a step whose batch has the statistics s changes the running statistics r of norms. Training
// does not read them, so most steps need not send them:
//
//   follows    r = m r + (1 - m) s, as the norm says              sent
//   skips      r stays as it is                                   not sent
//   averages   r is the mean of s and of the `before` steps before, whatever it was before these
class StatisticsUse {
 public:
  static StatisticsUse follows() { return StatisticsUse(kFollows); }
  static StatisticsUse skips() { return StatisticsUse(kSkips); }
  static StatisticsUse averages(int64_t before) { return StatisticsUse(before); }
  // From its number in a message; nullopt for any other.
  static std::optional<StatisticsUse> from_number(int64_t number) {
    if (number < kFollows) return std::nullopt;
    return StatisticsUse(number);
  }
  int64_t number() const { return number_; }

  bool is_sent() const { return number_ != kSkips; }
  std::optional<int64_t> averaged_before() const {
    return number_ >= 0 ? std::optional(number_) : std::nullopt;
  }

 private:
  static constexpr int64_t kFollows = -2, kSkips = -1;
  explicit StatisticsUse(int64_t number) : number_(number) {}

  int64_t number_;
};

// Nesterov momentum on the sum of what replicas learned in local steps.
struct OuterRule {
  float rate = 0;  // 0: no local steps; the trainer's own rule applies
  float momentum = 0;

  friend bool operator==(const OuterRule&, const OuterRule&) = default;
};

// How the micro-batches of a step are shared and sent.
struct ExchangeOptions {
  CodecOptions codec = {};
  int levels = 3;  // a step has 2^levels micro-batches
  // Above 1: replicas exchange after this many steps of their own.
  int64_t local_steps = 1;
  OuterRule outer = {};  // for local steps

  int64_t micro_batches() const { return int64_t{1} << levels; }
};

// Not thread-safe.
class StepCodec {
 public:
  // Fails as GradientCodec::create().
  static Result<StepCodec> create(const CodecOptions& options, StepTypes types);

  // Whether decode() restores what was encoded, bit by bit.
  bool is_exact() const { return gradients_.options().kind == CodecKind::kF32; }
  // The size of a message, with or without statistics.
  size_t bytes(bool with_statistics = true) const {
    return gradients_.bytes() + (with_statistics ? statistics_.bytes() : 0);
  }
  // Appends bytes() to the message. Fails as GradientCodec::encode().
  Status encode(std::span<const Tensor> tensors, std::vector<std::byte>& message,
                bool with_statistics = true);
  // kCorrupt for a message of another size, or that no encode() writes. Absent statistics are zero.
  Result<std::vector<Tensor>> decode(std::span<const std::byte> message,
                                     bool with_statistics = true);
  // Adds decoded gradients that came too late to what is sent next.
  Status carry(std::span<const Tensor> tensors);

  // Its state is that of the whole codec.
  const GradientCodec& gradients() const { return gradients_; }
  GradientCodec& gradients() { return gradients_; }

 private:
  StepCodec(GradientCodec gradients, GradientCodec statistics, StepTypes types)
      : gradients_(std::move(gradients)),
        statistics_(std::move(statistics)),
        types_(std::move(types)) {}

  GradientCodec gradients_, statistics_;
  StepTypes types_;
};

// Sums over the micro-batches [first, end) of a step, divided by the number of all. An exact codec
// has one message per node of subtrees_of(first, end), in order; others have one.
struct Contribution {
  int64_t first = 0, end = 0;
  double loss = 0;  // the sum of their losses, divided likewise
  std::vector<std::byte> message = {};
};

}  // namespace shoal::learn
