// Adds exits to a trained classifier, trains them, and calibrates their thresholds.
//
//   exits::ExitsOptions options{.automatic = 2, .out = "multi.onnx"};
//   options.recipe.data = "cifar10";
//   options.recipe.format = "cifar";
//   SHOAL_ASSIGN(const fit::JudgedData data, fit::open_judged_data(options.recipe));
//   SHOAL_ASSIGN(const exits::ExitsResult result,
//                exits::add_exits(*device, model, data, options));
//   std::printf("%.2f %% with %.0f MACs\n", result.test.top1, result.test.mean_macs);
//
// First the exits train one after the other, with the rest frozen: seconds, if features fit the
// feature cache. Then, optionally, the whole network trains on the joint loss, with batch norms
// restored. Thresholds are calibrated on held-out examples; test examples evaluate the result and
// choose nothing.
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
#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_data.h"

#pragma GCC visibility push(default)

namespace shoal::exits {

// Accuracies are percent of test examples, unless they say otherwise.
struct ExitsResult {
  std::vector<Exit> exits = {};          // with their thresholds
  std::vector<int64_t> stage_macs = {};  // of one image: per exit, and from there to the scores
  int64_t macs_before = 0;               // of the network without exits
  double top1_before = 0;                // of the network as it was given
  std::vector<double> top1 = {};  // each exit alone on all examples; the last classifier last
  Figures held_out = {};          // of the examples that the thresholds were calibrated on
  Figures test = {};              // of examples that chose nothing
  double seconds = 0;
};

// A value.
struct ExitsOptions {
  std::vector<std::string> at = {};  // values of the network; empty: chosen, `automatic` of them
  size_t automatic = 2;              // at even shares of the multiply-accumulates
  HeadOptions head = {};             // what an exit consists of
  // The training recipe; `distill` is for the answers of the given network. Files, model, teacher,
  // patience and frozen weights are not read.
  fit::TrainingOptions recipe = {};
  int64_t joint_epochs = 0;  // of the whole network, after the exits have learned alone
  float joint_rate = 0;      // 0: that of the recipe
  // Restores batch norms of convolutions in these epochs (shrink/compress/refit/refit.h); they are
  // folded before evaluation.
  bool norms = true;
  // The loss weight of each exit in these, the last classifier last; empty: 1.
  std::vector<float> joint_weights = {};
  float self_distill = 0;  // in these: the share of an exit's loss that the last classifier teaches
  WantedPrecision wanted = {};  // of each exit; determines its threshold
  // Instead of a precision: the points of accuracy exits may lose against the last classifier on
  // other examples, at the risk in `wanted` (drop_calibration.h).
  std::optional<double> max_drop = {};
  std::filesystem::path out = {};  // the network with its exits as ONNX; empty: none
  // A folder for the stages as files of their own, stage1.onnx and so on; empty: none.
  std::filesystem::path stages = {};
};

// Fails with kInvalidArgument if options contradict each other or have no meaning.
Status check(const ExitsOptions& options);

// The state of a run after a step.
struct ExitsStep {
  std::string_view network;  // "exit 1", "all exits"
  const fit::StepReport& step;
};

// All are optional, and called on the thread that trains.
struct ExitsCallbacks {
  std::function<void(const ExitsStep&)> on_step = {};
  std::function<void(const std::string&)> on_note = {};  // a line for the user
  // Set by any thread or signal handler to end after the present step.
  const std::atomic<bool>* cancel = nullptr;
};

// Blocks until the run is over, and writes files last. Fails as check(options), the model, the data
// and the device do; kInvalidArgument for a model that is not trained, no classifier of one input
// and one output, or lacks the values in `at`; kUnsupported for a quantised one; kCancelled if the
// callbacks say so. Reproducible bit by bit if the device chooses its kernels by estimate.
Result<ExitsResult> add_exits(Device& device, const Model& model, const fit::JudgedData& data,
                              const ExitsOptions& options, const ExitsCallbacks& callbacks = {});

}  // namespace shoal::exits

#pragma GCC visibility pop
