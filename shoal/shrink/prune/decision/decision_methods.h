// Methods: the ways to decide what goes. Most rank units by a worth (worth.h); some let the network
// learn first, some drop whole blocks, and some put factors in place of layers. One function each,
// and one line in methods.cc.
#pragma once

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/latency/latency_table.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/run/loop/training_loop.h"

namespace shoal::shrink {

// The means that a method may use. All of them outlive its call.
struct Means {
  Device& device;  // to learn on
  Device& runs;    // as the smaller network will run, for times
  const NetworkForBatch& network;
  const fit::TrainingData& data;
  const ShrinkOptions& options;
  const LatencyTable* table = nullptr;  // as decide() takes it
  fit::TrainingCallbacks callbacks = {};
};

// What a method decided.
struct Decided {
  Decision decision;
  // What the network learned before anything goes, by name, for those epochs of the recipe that
  // epochs_before() counts; empty: nothing.
  Weights weights = {};
};

// Decides by the method that options.importance names. Fails as its parts do, and with kCancelled
// if the callbacks say so.
Result<Decided> decide_by_method(const Means& means);

// sparse_learning.cc: kLasso, kHoyer.
Result<Decided> learn_sparsely(const Means& means);
// dpruner.cc: kDpruner.
Result<Decided> learn_masks(const Means& means);
// depth.cc: kDepth.
Result<Decided> choose_blocks(const Means& means);
// factor_layers.cc: kSvd, kTucker.
Result<Decided> factorise_layers(const Means& means);

}  // namespace shoal::shrink
