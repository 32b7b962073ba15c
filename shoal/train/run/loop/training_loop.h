// TrainingLoop: trains a network, epoch by epoch. After each epoch it evaluates the network on
// held-out examples and writes a checkpoint.
//
// The result is a function of network, data and options: a batch follows from the seed and its
// place (train/data/batches.h), dropout from the seed and the step (train/step/trainer/trainer.h),
// the rate from the step. So training that was interrupted at any moment and resumed from its
// checkpoint ends with the same weights, bit by bit, on a device that computes the same each time
// (one that chooses its kernels by estimate, not by measuring).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/train/run/setup/training_options.h"

#pragma GCC visibility push(default)

namespace shoal::fit {

// TrainingProgress: how far training is and what came out so far. It decides which epoch is the
// best and when to stop, from results alone: no clock, no files.

// The results of one epoch.
struct EpochResult {
  double loss = 0, top1 = 0;                    // of the training examples, on the way
  double held_out_loss = 0, held_out_top1 = 0;  // after the epoch
  double seconds = 0;                           // since training began
};

// See the head of this file. A value.
struct TrainingProgress {
  uint64_t epoch = 0;  // the position: this step of this epoch is the next
  size_t step = 0;
  double loss_sum = 0;  // over the steps of this epoch
  size_t correct = 0;   // answers in this epoch
  double seconds = 0;   // in all, earlier processes included
  std::vector<EpochResult> results;

  // Counts a step of the epoch.
  void add_step(double loss, size_t correct_answers);
  // Closes the epoch with what its steps and the evaluation after it gave; the next one begins.
  // REQUIRES: the epoch had a step.
  void end_epoch(size_t batch, double held_out_loss, double held_out_top1);

  // Means over the epoch so far. REQUIRES: it had a step.
  double mean_loss() const { return loss_sum / static_cast<double>(step); }
  double top1(size_t batch) const;

  // The index of the epoch with the best result on held-out examples, the first of equals.
  // REQUIRES: an epoch has ended.
  size_t best_epoch() const;
  // Whether the epoch that ended last is the best.
  bool improved() const { return !results.empty() && best_epoch() + 1 == results.size(); }
  // Whether `patience` epochs in a row, or more, brought no better result. 0: never.
  bool out_of_patience(int64_t patience) const;
};

// The network to train, its data, and a teacher.
struct TrainingTask {
  // For the options' batch, or with privacy for one example: one input, one output of scores, or
  // one per weight.
  Graph network;
  TrainingData data;
  // Takes what the network takes and gives as many scores; then, with options.distill_features,
  // what the ends of the network's stages are to be (train/step/graph/features.h).
  std::optional<Graph> teacher = {};
  // Makes inputs [1, ...] of what the data set has; null: options.preprocess, for images.
  std::function<Result<Tensor>(const Tensor&)> prepare = {};
  std::optional<train::UnitPenalty> penalty = {};  // on units of the network, besides the options'
};

// The state of training after a step.
struct StepReport {
  const TrainingProgress& progress;
  size_t steps_per_epoch = 0;
  int64_t epochs = 0;
  double loss = 0, top1 = 0;     // of the epoch so far
  double images_per_second = 0;  // in this process, evaluation not counted
  double seconds_left = 0;       // until the last epoch ends, as far as that speed tells
};

// The state of training after an epoch.
struct EpochReport {
  const TrainingProgress& progress;
  const Evaluation& evaluation;
  const Dataset& held_out;  // the examples that the evaluation's mistakes are about
};

// All are optional. They are called on the thread that trains and must not call into the loop.
struct TrainingCallbacks {
  std::function<void(const StepReport&)> on_step = {};
  std::function<Status(const EpochReport&)> on_epoch = {};  // a failure ends training with it
  std::function<void(const std::string&)> on_note = {};     // a line for the user
  // Set by any thread or signal handler to end training after the step it is in.
  const std::atomic<bool>* cancel = nullptr;
};

// Why training ended.
enum class StopReason {
  kDone,      // all epochs are done
  kPatience,  // no better result for options.patience epochs
  kCancelled  // by callbacks.cancel; the checkpoint is of the last step
};

// See the head of this file. Thread-compatible: one thread at a time uses a loop.
class TrainingLoop {
 public:
  // Compiles the network, computes the feature cache if there is use for it, and reads the
  // checkpoint if options.resume says so and it exists. Fails as check(options), the device, the
  // data and the checkpoint do. REQUIRES: `device` outlives the loop.
  static Result<TrainingLoop> create(Device& device, TrainingTask task, TrainingOptions options,
                                     TrainingCallbacks callbacks = {});

  TrainingLoop(TrainingLoop&&) noexcept;
  TrainingLoop& operator=(TrainingLoop&&) noexcept;
  ~TrainingLoop();

  // Trains for the epochs that are left, and blocks until then. Fails as the data, the device,
  // on_epoch and the checkpoint's file do; the last checkpoint is then as it was.
  Result<StopReason> run();

  // Takes the weights of the best epoch, if options.patience asks for them, and evaluates them if
  // that has not been done. Fails as the device and the data do.
  Status finish();

  // The position in training, and the results so far. Valid as long as the loop.
  const TrainingProgress& progress() const;
  // The last evaluation; of no images before the first epoch ended. Valid as long as the loop.
  const Evaluation& evaluation() const;
  // The speed in this process, evaluation not counted; 0 before the first step.
  double images_per_second() const;
  // Whether a frozen part of the network has run once and for all.
  bool uses_feature_cache() const;
  // What the steps so far reveal of any one example, without the cost; nothing without privacy.
  std::optional<privacy::PrivacySpent> privacy() const;
  // Examples that could not be read and were left out, a line each.
  std::vector<std::string> skipped() const;
  // Weights and statistics by name. With a feature cache those of the head; the rest is unchanged.
  // They share memory with the loop: the next step changes them, and clone() keeps them.
  std::map<std::string, Tensor> weights() const;

 private:
  class State;
  explicit TrainingLoop(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal::fit

#pragma GCC visibility pop
