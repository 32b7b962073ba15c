// Shrinks a trained network: removes what is worth least, retrains the rest, and evaluates it
// beside its controls.
//
//   const auto device = make_cpu_device({.tune = Tune::kOff});
//   SHOAL_ASSIGN(const Model model, open_model("lenet5.onnx"));
//   shrink::ShrinkOptions options{.target = {.macs = 0.5},
//                                 .recipe = shrink::usual_recipe(),
//                                 .out = "small.onnx"};
//   options.recipe.data = "mnist";
//   options.recipe.format = "idx";
//   SHOAL_ASSIGN(const fit::JudgedData data, fit::open_judged_data(options.recipe));
//   SHOAL_ASSIGN(const shrink::ShrinkResult result,
//                shrink::shrink({*device, *device}, model, data, options));
//   std::printf("%.2f %%, control %.2f %%\n", result.small.top1, result.dense.top1);
//
// All networks of a run train by the same recipe on the same images in the same order: the smaller
// one, the dense control and, optionally, controls of the same size. Held-out examples decide what
// is removed; test examples only evaluate networks after their last epoch. The file has no
// subnormal numbers, and no units or nodes that no answer depends on.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/prune/result.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_data.h"

#pragma GCC visibility push(default)

namespace shoal::shrink {

// They may be the same. The result is reproducible bit by bit if the first chooses its kernels by
// estimate (CpuOptions::tune = Tune::kOff) and no measured time decides, as for a target of time on
// this machine, and for kSvd and kTucker unless measure_seconds is 0.
struct ShrinkDevices {
  Device& learns;  // every step of training and every evaluation
  Device& runs;    // the measured runs, and those that a target of time is met by
};

// The state of a run after a step of one of its networks.
struct ShrinkStep {
  // "dense control", "smaller network", "milder removal", "from scratch", "random removal"
  std::string_view network;
  size_t number = 0, networks = 0;  // from 0, and how many there are
  const fit::StepReport& step;
  double seconds_left = 0;  // until the last network has learned, as far as speed and work tell
};

// All are optional, and called on the thread that shrinks.
struct ShrinkCallbacks {
  std::function<void(const ShrinkStep&)> on_step = {};
  std::function<void(const std::string&)> on_note = {};  // a line for the user
  // Set by any thread or signal handler to end after the present step.
  const std::atomic<bool>* cancel = nullptr;
};

// Blocks until the run is over, and writes options.out last. Fails as check(options), the model,
// the data and the devices do; kInvalidArgument for a model that is not trained or cannot be, and
// for resuming with other settings; kUnsupported if nothing can be removed or the target cannot be
// met; kCancelled if the callbacks say so. After any failure, options.steps holds the progress.
Result<ShrinkResult> shrink(const ShrinkDevices& devices, const Model& model,
                            const fit::JudgedData& data, const ShrinkOptions& options,
                            const ShrinkCallbacks& callbacks = {});

}  // namespace shoal::shrink

#pragma GCC visibility pop
