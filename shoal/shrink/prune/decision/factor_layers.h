// Factors in place of layers: kSvd, kTucker.
#pragma once

#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/factors/factorise.h"
#include "shoal/shrink/compress/factors/rank_front.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/result.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/data/dataset.h"

namespace shoal::shrink {

// Ranks for the network's layers that lose least of their outputs while meeting the target, in
// rounds. If times are measured (ShrinkOptions::measure_seconds is not 0, or the target is one of
// time), no layer gets ranks at which it was not faster on means.runs. kUnsupported if nothing can
// be factorised or the target cannot be met; fails as the examples, the devices and the stopwatch
// do.
Result<Choice> choose_factors(const Means& means,
                              const compress::Stopwatch& stopwatch = compress::wall_clock());

// A network with factors in place of layers.
struct InFactors {
  NetworkForBatch network;
  std::vector<GroupLeft> removed;    // outputs and inputs of layers, before, and ranks, left
  std::vector<RefusedAxis> refused;  // layers that stay
};

// The network with factors at these ranks (Removal::ranks), optimal for the layers' inputs on some
// of these examples, and reproducible. Fails as the examples and the device do; kInvalidArgument if
// these are not the ranks of its layers.
Result<InFactors> in_factors(Device& device, const NetworkForBatch& network,
                             const Dataset& examples, const ShrinkOptions& options,
                             const std::vector<compress::Ranks>& ranks);

}  // namespace shoal::shrink
