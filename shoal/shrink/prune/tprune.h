// TPrune [Mao 2021]: a smaller transformer. Structured Hoyer-square makes heads and feed-forward
// lines small, the smallest are removed, and the rest is retrained. Examples are arrays; without
// labels the network imitates its own earlier answers.
//
//   SHOAL_ASSIGN(const Model model, open_model("encoder.onnx"));
//   shrink::TPruneOptions options{.target = {.macs = 0.5}, .out = "small.onnx"};
//   SHOAL_ASSIGN(const shrink::TPruneResult result,
//                shrink::tprune({*device, *device}, model, {.inputs = ids}, options));
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
#include "shoal/engine/session/model.h"
#include "shoal/shrink/compress/units/target.h"
#include "shoal/shrink/prune/result.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/train/run/setup/training_options.h"
#include "shoal/train/step/optimizer/regularizer.h"

#pragma GCC visibility push(default)

namespace shoal::shrink {

// A penalty on the units of the network while it learns (train/step/optimizer/regularizer.h).
struct SparseLearning {
  train::Regularizer::Penalty penalty = train::Regularizer::Penalty::kHoyer;
  double strength = 0;
};

// How far learning is.
struct ArrayStep {
  int64_t step = 0, steps = 0;
  double loss = 0;  // of the last batch, without the penalty
};

// A value.
struct TPruneOptions {
  compress::Target target = {.macs = 0.5};  // how small
  SparseLearning sparse = {};               // before the removal; a strength of 0: none
  int64_t sparse_epochs = 1;                // how long
  double line_share = 0.1;  // lines below this share of their matrix's mean count as sparse
  // The recipe: after the removal for recipe.epochs; before it, with the penalty. Files, model,
  // teacher, loss and patience are not read.
  fit::TrainingOptions recipe = {};
  bool control = false;              // let the dense network learn as long, too; needs labels
  double measure_seconds = 1;        // for the time of each network; 0: it is not measured
  std::filesystem::path out = {};    // the smaller network as ONNX; empty: none
  std::filesystem::path dense = {};  // the dense control as ONNX; empty: none
};

// Training and test examples, all with labels or all without.
struct TPruneData {
  Tensor inputs, labels = {};                 // labels not defined: the network imitates itself
  Tensor test_inputs = {}, test_labels = {};  // undefined: no evaluation
};

// How sparse a block of a matrix was before the removal: BSSL's read-out.
struct BlockReport {
  std::string weights;
  int64_t row = 0, column = 0;   // where it begins
  double rows = 0, columns = 0;  // the share of its lines that are small
};

// Scores are those of score_of() on the test examples; nullopt if there are none.
struct TPruneResult {
  compress::Size before, size;
  std::optional<double> score_before, score_sparse, score_removed, score, score_control;
  std::optional<double> ms_before, ms;
  std::vector<GroupLeft> removed;
  std::vector<BlockReport> blocks;
};

// All optional. Called on the calling thread.
struct TPruneCallbacks {
  std::function<void(std::string_view stage, const ArrayStep&)> on_step = {};
  const std::atomic<bool>* cancel = nullptr;
};

// Blocks until the run is over, and writes options.out last. The model has one input, with the
// batch as first axis; the others are those of the examples. Test examples may be longer than
// training examples, unless a learned constant has that length; sizes, times and the file are for
// test examples. Fails as learn(), find_groups() and choose() do.
Result<TPruneResult> tprune(const ShrinkDevices& devices, const Model& model,
                            const TPruneData& data, const TPruneOptions& options,
                            const TPruneCallbacks& callbacks = {});

}  // namespace shoal::shrink

#pragma GCC visibility pop
