// Trains a network on a data set, both given by name, as `shoal train` does.
//
//   const auto device = make_cpu_device({.tune = Tune::kOff});
//   SHOAL_ASSIGN(const fit::TrainingResult result,
//                fit::train(*device, {.model = "zoo:lenet5",
//                                     .data = "mnist",
//                                     .format = "idx",
//                                     .out = "lenet5.onnx",
//                                     .checkpoint = "lenet5.safetensors"}));
//   std::printf("%.2f %%\n", result.evaluation.top1());
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/train/privacy/privacy_options.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_options.h"

#pragma GCC visibility push(default)

namespace shoal::fit {

// The results of a training run.
struct TrainingResult {
  TrainingProgress progress;
  Evaluation evaluation;  // of the weights that training ended with
  StopReason reason = StopReason::kDone;
  double images_per_second = 0;                  // in this process, evaluation not counted
  std::vector<std::string> skipped = {};         // left out, a line each
  std::shared_ptr<const Dataset> held_out = {};  // the evaluation's mistakes are indices into it
  std::optional<privacy::PrivacySpent> privacy = {};  // if options.privacy is on
};

// Opens model, data and teacher, trains, and writes options.out; if cancelled, only the checkpoint.
// Blocks until training ends; callbacks are called on this thread. Fails as check(options), the
// files and TrainingLoop do; the last checkpoint and an old options.out are then unchanged. The
// result is reproducible bit by bit on a device that chooses its kernels by estimate
// (CpuOptions::tune = Tune::kOff). REQUIRES: nothing else uses the files.
Result<TrainingResult> train(Device& device, const TrainingOptions& options,
                             const TrainingCallbacks& callbacks = {});

// The same with an open model and data, instead of options.model and options.data.
Result<TrainingResult> train(Device& device, const Model& model, TrainingData data,
                             const TrainingOptions& options,
                             const TrainingCallbacks& callbacks = {});

}  // namespace shoal::fit

#pragma GCC visibility pop
