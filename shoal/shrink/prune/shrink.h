// Shrinks a trained network: removes what is worth least, lets the rest learn again, and judges it
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
// Every network of a run learns by the same recipe from the same images in the same order: the
// smaller one, the dense control and, if they are asked for, the controls of the same size. What
// is removed is decided on examples that are held out from training. Test examples only evaluate
// networks after their last epoch. What is written has no subnormal numbers, and no units or nodes
// that no answer depends on.
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

// They may be one. The result can be reproduced bit by bit if the first chooses its kernels by
// estimate (CpuOptions::tune = Tune::kOff), and if no measured time decides: one does for a target
// of time on this machine, and for kSvd and kTucker unless measure_seconds is 0.
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

// See the head of this file. Blocks until the run is over, and writes options.out last. Fails as
// check(options), the model, the data and the devices do; with kInvalidArgument for a model that
// was never trained or that training cannot take, and for a run to resume that had other settings;
// with kUnsupported if there is nothing to remove or the target cannot be met; with kCancelled if
// the callbacks say so. After any failure, options.steps holds how far it came.
Result<ShrinkResult> shrink(const ShrinkDevices& devices, const Model& model,
                            const fit::JudgedData& data, const ShrinkOptions& options,
                            const ShrinkCallbacks& callbacks = {});

}  // namespace shoal::shrink

#pragma GCC visibility pop
