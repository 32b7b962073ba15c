// Splits a network into a heavy part that computes features, and a light one for the task (Deep
// Feature Flow [Mao 2019]), so that warped features of a key frame can serve later frames.
//
//   SHOAL_ASSIGN(const auto at, keyframe::find_cut(network));
//   SHOAL_ASSIGN(const keyframe::SplitNetwork split, keyframe::split_at(network, at));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::keyframe {

// Both parts of a network. A value.
struct SplitNetwork {
  Graph features = {};  // the network's inputs; outputs: the values at which it was split
  Graph task = {};      // inputs: these values, in the same order; the network's outputs
  int64_t features_macs = 0, task_macs = 0;  // multiply-accumulates of a run
};

// Splits a network at these values. kInvalidArgument if an output depends on the input other than
// through them, or not on them at all. Constant parts may be computed in both.
Result<SplitNetwork> split_at(const Graph& network, std::span<const ValueId> at);

// Which cut to look for. A value.
struct CutOptions {
  double task_share = 0.2;  // of the multiply-accumulates, at most, in the second part
  size_t most_values = 3;   // at which it is split: detectors have features of several strides
};

// The first place, in node order, with a light enough second part and features that are images, f32
// [n, c, h, w] of more than one pixel; otherwise the place with the lightest second part. A later
// place saves more, an earlier one leaves more layers to correct warping. kUnsupported if there is
// none.
Result<std::vector<ValueId>> find_cut(const Graph& network, const CutOptions& options = {});

}  // namespace shoal::keyframe

#pragma GCC visibility pop
