// Bounds of training options, and their translation for the parts below.
#include "shoal/train/run/setup/training_options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/base/text/glob.h"
#include "shoal/train/run/setup/derived_options.h"

namespace shoal::fit {
namespace {

using Rule = train::OptimizerOptions::Rule;

constexpr float kSgdRate = 0.02f, kAdamRate = 0.001f;

int64_t steps(double epochs, size_t per_epoch) {
  return std::llround(epochs * static_cast<double>(per_epoch));
}

// Bounds beyond which an option has no meaning, or is a mistake that would take all memory.
constexpr int64_t kMostEpochs = 1 << 20, kMostClasses = 1 << 20, kMostPixels = 1 << 14;
constexpr size_t kMostImages = 4096;
constexpr double kMostHeldOut = 0.9, kLeastCrop = 0.01, kLeastTemperature = 1e-6;
constexpr int kMostLoaders = 64;
constexpr double kMostNoise = 1e6, kMostDelta = 0.5;

struct Bound {
  const char* option;
  double value, least, most;
};

Status check_numbers(const TrainingOptions& o) {
  constexpr double kAny = std::numeric_limits<double>::max();
  const Bound bounds[] = {
      {"epochs", static_cast<double>(o.epochs), 1, kMostEpochs},
      {"batch", static_cast<double>(o.batch), 1, kMostImages},
      {"loaders", static_cast<double>(o.loaders), 1, kMostLoaders},
      {"retarget", static_cast<double>(o.retarget), 0, kMostClasses},
      {"hold_out", o.hold_out, 0, kMostHeldOut},
      {"patience", static_cast<double>(o.patience), 0, kMostEpochs},
      {"memory_bytes", static_cast<double>(o.memory_bytes), 0, kAny},
      {"checkpoint_every", static_cast<double>(o.checkpoint_every), 0, kAny},
      {"rate", o.optimizer.rate, 0, kAny},
      {"momentum", o.optimizer.momentum, 0, 1},
      {"weight_decay", o.optimizer.weight_decay, 0, kAny},
      {"clip", o.optimizer.max_norm, 0, kAny},
      {"warm_up", o.warm_up, 0, kMostEpochs},
      {"drop_every", o.drop_every, 0, kMostEpochs},
      {"drop", o.drop, 0, 1},
      {"smoothing", o.loss.smoothing, 0, 1},
      {"focal", o.loss.focal, 0, kAny},
      {"distill", o.loss.distill, 0, 1},
      {"self_distill", o.self_distill, 0, 1},
      {"distill_features", o.distill_features, 0, kAny},
      {"temperature", o.loss.temperature, kLeastTemperature, kAny},
      {"shift", static_cast<double>(o.augment.shift), 0, kMostPixels},
      {"crop", o.augment.crop, kLeastCrop, 1},
      {"noise", o.augment.noise, 0, 1},
      {"privacy.noise", o.privacy.noise, 0, kMostNoise},
      {"privacy.clip", o.privacy.clip, 0, kAny},
      {"privacy.delta", o.privacy.delta, 0, kMostDelta},
  };
  for (const Bound& bound : bounds) {
    if (bound.value >= bound.least && bound.value <= bound.most) continue;  // false for NaN, too
    return invalid(std::string(bound.option) + " is out of range");
  }
  return {};
}

}  // namespace

Status check(const TrainingOptions& options) {
  SHOAL_TRY(check_numbers(options));
  if (options.teacher.empty() != (options.loss.distill == 0)) {
    return invalid(options.teacher.empty()
                       ? "a part of the loss is about a teacher, and there is none"
                       : "there is a teacher, and no part of the loss is about its answers");
  }
  if (options.teacher.empty() && options.distill_features > 0) {
    return invalid("features are those of a teacher, and there is none");
  }
  if (!options.privacy.is_on() && (options.privacy.noise > 0 || options.privacy.delta > 0)) {
    return invalid("privacy needs a bound for the gradient of an example");
  }
  if (options.privacy.is_on() && options.damaged == Damaged::kSkip) {
    return invalid("with privacy no example can take the place of a damaged one");
  }
  if (options.resume && options.checkpoint.empty()) {
    return invalid("there is no checkpoint to resume from");
  }
  for (const std::string& text : options.penalties) {
    if (auto parsed = train::parse_regularizer(text); !parsed.ok()) return parsed.status();
  }
  return {};
}

train::TrainerOptions trainer_options(const TrainingOptions& options) {
  train::TrainerOptions result{.optimizer = options.optimizer,
                               .step = {.loss = options.loss,
                                        .frozen = {},
                                        .output_weights = options.output_weights,
                                        .self_distill = options.self_distill,
                                        .distill_features = options.distill_features},
                               .regularizers = {},
                               .bf16 = options.bf16,
                               .memory_bytes = options.memory_bytes,
                               .seed = options.seed};
  if (result.optimizer.rate == 0) {
    result.optimizer.rate = options.optimizer.rule == Rule::kSgd ? kSgdRate : kAdamRate;
  }
  result.step.frozen = [patterns = options.freeze](std::string_view name) {
    return matches_any(patterns, name);
  };
  for (const std::string& text : options.penalties) {
    // check() has parsed the same texts.
    auto parsed = train::parse_regularizer(text);
    SHOAL_CHECK(parsed.ok());
    result.regularizers.push_back(*std::move(parsed));
  }
  return result;
}

train::Schedule schedule_of(const TrainingOptions& options, size_t per_epoch) {
  return {.kind = options.schedule,
          .warm_up = steps(options.warm_up, per_epoch),
          .total = options.epochs * static_cast<int64_t>(per_epoch),
          // Half an epoch of few batches may round to no step at all.
          .every = std::max<int64_t>(steps(options.drop_every, per_epoch), 1),
          .drop = options.drop};
}

BatchOptions training_batches(const TrainingOptions& options, int64_t classes) {
  return {.batch = options.batch,
          .seed = options.seed,
          .shuffle = true,
          .augment = options.augment,
          .classes = classes,
          .damaged = options.damaged};
}

BatchOptions evaluation_batches(const TrainingOptions& options, int64_t classes) {
  return {.batch = network_batch(options), .classes = classes, .damaged = options.damaged};
}

size_t network_batch(const TrainingOptions& options) {
  return options.privacy.is_on() ? 1 : options.batch;
}

}  // namespace shoal::fit
