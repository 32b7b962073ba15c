// Trains a network of branches, and evaluates it beside its controls.
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
// All networks train by the same recipe on the same images in the same order: first the dense
// control, which is the given network and teaches the others; then the branches, from scratch as in
// the thesis [Hadidi 2021, 5.1], or refitted to the network's answers (branch_networks.h); last a
// single narrow network with the multiply-accumulates of all branches.
//
// In training, each branch is dropped for an image with a probability p, and scaled by 1 / (1 - p)
// otherwise, so that a network that has lost a branch still answers. Test examples only evaluate
// networks after their last epoch.
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
  BranchOptions branches = {};  // the branches to make
  // Fatten in steps of 10 percent, from branches.fatten on, until held-out accuracy is at most this
  // many points below the dense control's, or there are as many parameters as it has.
  std::optional<double> max_drop = {};
  float dropout = 0.1F;  // p
  // Branches start from the network's weights, its best channels dealt out to them. All networks
  // then train with batch norms behind their convolutions, folded when written. Needs a trained
  // network, and concatenated branches.
  bool refit = false;
  // Residual blocks to drop, by number. With `refit`, the network without them trains for a third
  // of the epochs before it is split.
  std::vector<size_t> blocks = {};
  bool controls = true;  // evaluate lost branches, and train the single network of the same work
  // The training recipe; `distill` is for the dense control's answers. Files, model, teacher and
  // patience are not read.
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

// Blocks until the run is over, and writes options.out last. A network of the zoo starts with fresh
// weights. Fails as check(options), make_branches(), the model, the data and the device do; with
// kCancelled if the callbacks say so.
Result<LearnResult> learn_branches(Device& device, const Model& model, const fit::JudgedData& data,
                                   const LearnOptions& options,
                                   const LearnCallbacks& callbacks = {});

}  // namespace shoal::branch

#pragma GCC visibility pop
