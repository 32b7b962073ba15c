// Lets a network of branches learn, and judges it beside its controls.
//
//   branch::LearnOptions options{.branches = {.widths = branch::equal_widths(8)},
//                                .recipe = shrink::usual_recipe(),
//                                .out = "lcp.onnx"};
//   options.recipe.data = "mnist";
//   options.recipe.format = "idx";
//   SHOAL_ASSIGN(const fit::JudgedData data, fit::open_judged_data(options.recipe));
//   SHOAL_ASSIGN(const branch::LearnResult result,
//                branch::learn_branches(*device, model, data, options));
//   std::printf("%.2f %%, dense %.2f %%\n", result.top1, result.top1_dense);
//
// All networks learn by the same recipe from the same images in the same order: first the dense
// control, which is the network as it was given and teaches the others; then the branches, from
// fresh weights as in the thesis [Hadidi 2021, 5.1], or refitted to what the network answers
// (begin_branches.h); last the control of the same work, a single network that is as narrow as it
// takes to have the multiply-accumulates of all branches.
//
// While the branches learn, each is left out with a probability p for an image, and what it gives
// counts 1 / (1 - p) otherwise. So no branch is needed by the others, and a network that has lost
// one still answers. Test examples only judge networks after their last epoch.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/branches/make_branches.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_data.h"

#pragma GCC visibility push(default)

namespace shoal::branch {

// A value.
struct LearnOptions {
  BranchOptions branches = {};  // what they are
  // Fatten in steps of 10 percent, from branches.fatten on, until held-out examples lose at most so
  // many points against the dense control, or there would be as many parameters as it has.
  std::optional<double> max_drop = {};
  float dropout = 0.1F;  // p
  // Branches begin with what the network has learned: its best channels are dealt out to them. All
  // networks learn with batch norms behind their convolutions then, folded in what is written.
  // Needs a network that was trained, and branches that are concatenated.
  bool refit = false;
  // Residual blocks that no branch has, by number. With `refit`, the network without them learns
  // for a third of the epochs before it has branches.
  std::vector<size_t> blocks = {};
  bool controls = true;  // look at lost branches, and let the single network of the same work learn
  // How networks learn. Of the loss, `distill` is about the answers of the dense control. Files,
  // model, teacher and patience in it are not read.
  fit::TrainingOptions recipe = {};
  std::filesystem::path out = {};  // the network of branches as ONNX; empty: none
};

// Fails with kInvalidArgument if options contradict each other or have no meaning.
Status check(const LearnOptions& options);

// Accuracies are percent of test examples.
struct LearnResult {
  double top1 = 0;                     // of the branches
  double top1_dense = 0;               // of the dense control
  double top1_same_macs = 0;           // of the single network of the same work, with controls
  std::vector<double> top1_lost = {};  // by branch: without it, with controls
  BranchSizes sizes = {};              // for one image
  int64_t macs_same = 0;               // of the single network
  double seconds = 0;
};

// The state of a run after a step.
struct LearnStep {
  std::string_view network;  // "dense control", "fewer blocks", "branches", "same work"
  const fit::StepReport& step;
};

// All are optional, and called on the thread that trains.
struct LearnCallbacks {
  std::function<void(const LearnStep&)> on_step = {};
  std::function<void(const std::string&)> on_note = {};  // a line for the user
  // Set by any thread or signal handler to end after the present step.
  const std::atomic<bool>* cancel = nullptr;
};

// See the head of this file. Blocks until the run is over, and writes options.out last. A network
// of the zoo begins with fresh weights. Fails as check(options), make_branches(), the model, the
// data and the device do; with kCancelled if the callbacks say so.
Result<LearnResult> learn_branches(Device& device, const Model& model, const fit::JudgedData& data,
                                   const LearnOptions& options,
                                   const LearnCallbacks& callbacks = {});

}  // namespace shoal::branch

#pragma GCC visibility pop
