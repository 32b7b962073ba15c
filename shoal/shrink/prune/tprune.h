// TPrune [Mao 2021]: a smaller transformer. Heads and feed-forward lines learn to be small by
// structured Hoyer-square, the smallest are removed, and the rest learns again. Examples are
// arrays: with labels the network learns them, without it imitates its own answers as they were.
//
//   SHOAL_ASSIGN(const Model model, open_model("encoder.onnx"));
//   shrink::TPruneOptions options{.target = {.macs = 0.5}, .out = "small.onnx"};
//   SHOAL_ASSIGN(const shrink::TPruneResult result,
//                shrink::tprune({*device, *device}, model, {.inputs = ids}, options));
#pragma once

#include <atomic>
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
#include "shoal/shrink/prune/tprune_options.h"

#pragma GCC visibility push(default)

namespace shoal::shrink {

// Examples to learn from and examples that judge, both with labels or both without.
struct TPruneData {
  Tensor inputs, labels = {};                 // labels not defined: the network imitates itself
  Tensor test_inputs = {}, test_labels = {};  // not defined: nothing judges
};

// How sparse a block of a matrix was before the removal: BSSL's read-out.
struct BlockReport {
  std::string weights;
  int64_t row = 0, column = 0;   // where it begins
  double rows = 0, columns = 0;  // the share of its lines that are small
};

// Scores are those of score_of() on the test examples; nothing where there are none.
struct TPruneResult {
  compress::Size before, size;
  std::optional<double> score_before, score_sparse, score_removed, score, score_control;
  std::optional<double> ms_before, ms;
  std::vector<GroupLeft> removed;
  std::vector<BlockReport> blocks;
};

// All are optional, and called on the thread that prunes.
struct TPruneCallbacks {
  std::function<void(std::string_view stage, const ArrayStep&)> on_step = {};
  const std::atomic<bool>* cancel = nullptr;
};

// See the head of this file. Blocks until the run is over, and writes options.out last. The first
// axis of the model's one input is the batch; all others are those of the examples. Those that
// judge may be longer than those that teach, if no constant that learns is as long; sizes, times
// and the file are for them. Fails as learn(), find_groups() and choose() do.
Result<TPruneResult> tprune(const ShrinkDevices& devices, const Model& model,
                            const TPruneData& data, const TPruneOptions& options,
                            const TPruneCallbacks& callbacks = {});

}  // namespace shoal::shrink

#pragma GCC visibility pop
