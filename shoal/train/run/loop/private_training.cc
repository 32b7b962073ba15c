#include "shoal/train/run/loop/private_training.h"

#include <algorithm>
#include <chrono>

#include "shoal/engine/run/scores.h"
#include "shoal/train/privacy/accountant.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::fit {
namespace {

// Each step has two streams of the key.
enum Draw : uint64_t { kExamples, kNoise, kDraws };

// Example i of a batch, as a batch that shares its memory.
Batch one_of(const Batch& batch, size_t i) {
  const auto row = [i](const Tensor& whole) {
    TensorType type = whole.type();
    type.shape[0] = 1;
    return Tensor::view(type, whole.bytes().data() + i * type.bytes(), nullptr);
  };
  return {.images = row(batch.images),
          .labels = row(batch.labels),
          .examples = {batch.examples[i]},
          .fresh = 1};
}

}  // namespace

PrivateTraining::PrivateTraining(const privacy::PrivacyOptions& options, size_t batch,
                                 size_t examples)
    : options_(options),
      key_(options.key ? *options.key : privacy::fresh_key()),
      batch_(batch),
      examples_(examples) {
  SHOAL_CHECK(options.is_on() && batch > 0 && batch <= examples);
}

Status PrivateTraining::begin(const train::Trainer& trainer) {
  if (!trainer.statistics().empty()) {
    return Status(Code::kUnsupported,
                  "BatchNormalization measures examples without noise: with privacy, freeze it or "
                  "use a network without");
  }
  sum_.emplace(trainer.weights(), options_.clip);
  return {};
}

std::vector<size_t> PrivateTraining::choose(uint64_t step) const {
  privacy::SecretStream stream(key_, step * kDraws + kExamples);
  return privacy::sample(examples_, static_cast<double>(batch_) / static_cast<double>(examples_),
                         stream);
}

Result<PrivateTraining::Outcome> PrivateTraining::step(
    train::Trainer& trainer, const Batch& batch, uint64_t step, double rate_factor,
    const std::function<Result<std::vector<Tensor>>(const Batch& one)>& targets) {
  Outcome outcome;
  const size_t count = batch.examples.size();
  for (size_t i = 0; i < count; ++i) {
    const Batch one = one_of(batch, i);
    SHOAL_ASSIGN(const std::vector<Tensor> wanted, targets(one));
    SHOAL_ASSIGN(const float loss, trainer.compute(one.images, wanted, /*part=*/i));
    SHOAL_TRY(sum_->add(trainer.gradients()));
    outcome.loss += double{loss} / static_cast<double>(count);
    outcome.correct += count_correct(trainer.scores(), one.labels, 1);
  }
  privacy::SecretStream noise(key_, step * kDraws + kNoise);
  sum_->release(options_.noise, static_cast<double>(batch_), noise, trainer.gradients());
  SHOAL_TRY(trainer.update(rate_factor));
  return outcome;
}

privacy::PrivacySpent PrivateTraining::spent(uint64_t steps) const {
  const auto examples = static_cast<double>(examples_);
  privacy::PrivacySpent spent{.delta = options_.delta > 0 ? options_.delta : 0.1 / examples,
                              .sample_rate = static_cast<double>(batch_) / examples,
                              .steps = steps};
  const privacy::Epsilon epsilon = privacy::epsilon_of_steps(
      spent.sample_rate, options_.noise, steps, spent.delta, privacy::default_orders());
  spent.epsilon = epsilon.epsilon;
  spent.order = epsilon.order;
  if (sum_ && sum_->added() > 0) {
    spent.clipped = static_cast<double>(sum_->clipped()) / static_cast<double>(sum_->added());
  }
  return spent;
}

Result<double> speed_without_privacy(Device& device, const Graph& network, const Dataset& training,
                                     const TrainingOptions& options) {
  if (training.size() < options.batch) return 0.0;
  const Batches batches(training, images_for(network, options.preprocess),
                        training_batches(options, classes_of(network)));
  SHOAL_ASSIGN(const Batch batch, batches.at(0, 0));
  SHOAL_ASSIGN(train::Trainer trainer,
               train::Trainer::create(device, network, trainer_options(options)));
  constexpr int kSteps = 6;
  double best = 0;
  for (int i = 0; i < kSteps; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    SHOAL_TRY(trainer.compute(batch.images, std::span(&batch.labels, 1)).status());
    SHOAL_TRY(trainer.update(0));  // the weights stay as they are
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(options.batch) / spent.count());
  }
  return best;
}

}  // namespace shoal::fit
