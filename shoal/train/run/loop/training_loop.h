// TrainingLoop: trains a network epoch by epoch, with an evaluation on held-out examples and a
// checkpoint after each.
//
// The result is a function of network, data and options: a batch follows from the seed and its
// index (train/data/batches.h), dropout from the seed and the step (train/step/trainer/trainer.h),
// the rate from the step. So training that was interrupted at any moment and resumed from its
// checkpoint ends with the same weights, bit by bit, on a device that chooses its kernels by
// estimate, not by measuring.
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

// TrainingProgress: position and results so far. Chooses the best epoch and when to stop from
// results alone: no clock, no files.

// The results of one epoch.
struct EpochResult {
  double loss = 0, top1 = 0;                    // running, on training examples
  double held_out_loss = 0, held_out_top1 = 0;  // after the epoch
  double seconds = 0;                           // since training began
};

// A value.
struct TrainingProgress {
  uint64_t epoch = 0;  // the next step, of this epoch
  size_t step = 0;
  double loss_sum = 0;  // over the steps of this epoch
  size_t correct = 0;   // answers in this epoch
  double seconds = 0;   // total, earlier processes included
  std::vector<EpochResult> results;

  // Counts a step of the epoch.
  void add_step(double loss, size_t correct_answers);
  // Ends the epoch with its evaluation; the next one begins. REQUIRES: the epoch had a step.
  void end_epoch(size_t batch, double held_out_loss, double held_out_top1);

  // Means over the epoch so far. REQUIRES: it had a step.
  double mean_loss() const { return loss_sum / static_cast<double>(step); }
  double top1(size_t batch) const;

  // The epoch with the best held-out result, the first of equals. REQUIRES: an epoch has ended.
  size_t best_epoch() const;
  // Whether the last completed epoch is the best.
  bool improved() const { return !results.empty() && best_epoch() + 1 == results.size(); }
  // Whether the last `patience` epochs brought no better result. 0: never.
  bool out_of_patience(int64_t patience) const;
};

// The network to train, its data, and a teacher.
struct TrainingTask {
  // For the options' batch, or with privacy one example: one input, one output of scores, or one
  // per weight.
  Graph network;
  TrainingData data;
  // Takes the network's input and gives as many scores; with options.distill_features also the
  // features for the ends of the network's stages (train/step/graph/features.h).
  std::optional<Graph> teacher = {};
  // Makes inputs [1, ...] from the data; null: options.preprocess, for images.
  std::function<Result<Tensor>(const Tensor&)> prepare = {};
  std::optional<train::UnitPenalty> penalty =
      {};  // on units of the network, in addition to the options'
};

// The state of training after a step.
struct StepReport {
  const TrainingProgress& progress;
  size_t steps_per_epoch = 0;
  int64_t epochs = 0;
  double loss = 0, top1 = 0;     // of the epoch so far
  double images_per_second = 0;  // in this process, evaluation not counted
  double seconds_left = 0;       // until the last epoch ends, estimated
};

// The state of training after an epoch.
struct EpochReport {
  const TrainingProgress& progress;
  const Evaluation& evaluation;
  const Dataset& held_out;  // the evaluation's mistakes are indices into it
};

// All optional. Called on the training thread; must not call into the loop.
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

// Thread-compatible.
class TrainingLoop {
 public:
  // Compiles the network, computes the feature cache if it is of use, and reads the checkpoint if
  // options.resume is set and it exists. Fails as check(options), the device, the data and the
  // checkpoint do. REQUIRES: `device` outlives the loop.
  static Result<TrainingLoop> create(Device& device, TrainingTask task, TrainingOptions options,
                                     TrainingCallbacks callbacks = {});

  TrainingLoop(TrainingLoop&&) noexcept;
  TrainingLoop& operator=(TrainingLoop&&) noexcept;
  ~TrainingLoop();

  // Trains the remaining epochs; blocks. Fails as the data, the device, on_epoch and the
  // checkpoint's file do; the last checkpoint is then unchanged.
  Result<StopReason> run();

  // With options.patience, takes the weights of the best epoch and evaluates them if necessary.
  // Fails as the device and the data do.
  Status finish();

  // Position and results so far. Valid as long as the loop.
  const TrainingProgress& progress() const;
  // The last evaluation; of no images before the first epoch ended. Valid as long as the loop.
  const Evaluation& evaluation() const;
  // The speed in this process, evaluation not counted; 0 before the first step.
  double images_per_second() const;
  // Whether the frozen part of the network is cached.
  bool uses_feature_cache() const;
  // The privacy cost of the steps so far, without `plain_images_per_second`; nullopt without
  // privacy.
  std::optional<privacy::PrivacySpent> privacy() const;
  // Examples that could not be read and were left out, a line each.
  std::vector<std::string> skipped() const;
  // Weights and statistics by name; with a feature cache those of the head only. They share memory
  // with the loop, and the next step changes them: clone() to keep them.
  std::map<std::string, Tensor> weights() const;

 private:
  class State;
  explicit TrainingLoop(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal::fit

#pragma GCC visibility pop
