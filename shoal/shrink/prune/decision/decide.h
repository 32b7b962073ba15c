// Decides what to remove, and reports it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/latency/latency_table.h"
#include "shoal/shrink/prune/result.h"
#include "shoal/shrink/prune/saved_steps.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::shrink {

// The part of the examples to use: number `number` of `rounds`.
struct Round {
  size_t number = 0, rounds = 1;
};

// The worth of every unit of `groups`, which are those of `network`, by this importance, with the
// units `gone` masked. kTaylor, kLasso and kHoyer use examples in order, each round from where the
// last one ended. Fails as the device and the data do; kInvalidArgument if needed examples are
// missing. REQUIRES: the network takes batches of recipe.batch images.
Result<std::vector<double>> worth_of(Device& device, const Graph& network,
                                     const compress::Groups& groups, std::span<const size_t> gone,
                                     Importance importance, const Dataset& examples,
                                     const fit::TrainingOptions& recipe, Round round = {});

// Units to remove, of the groups of the network for one example.
struct Decision {
  compress::Groups groups;
  Choice choice;
};

// The worth of every unit once the units `gone` are.
using WorthInRound =
    std::function<Result<std::vector<double>>(std::span<const size_t> gone, Round round)>;

// Removes units of least worth in rounds until the target is met; worths that are changes of the
// loss count per saving. `table` serves a target of time and predicts times; otherwise it may be
// null. `learned` replaces worth_of(). Fails as both, compress::choose() and choose_by_time() do;
// kUnsupported if nothing can be removed. REQUIRES: the table is for the groups of the network for
// one example.
Result<Decision> decide(Device& device, const NetworkForBatch& network, const Dataset& examples,
                        const ShrinkOptions& options, const LatencyTable* table = nullptr,
                        WorthInRound learned = {});

// What is left of each group that loses units, and what of the graph cannot be touched. Pure.
// REQUIRES: the groups are those of the graph.
std::vector<GroupLeft> removed_by(const Graph& graph, const compress::Groups& groups,
                                  std::span<const size_t> units);
GroupLeft described(const Graph& graph, const compress::Groups& groups,
                    const compress::Group& group, size_t left);
std::vector<RefusedAxis> refused_by(const Graph& graph, const compress::Groups& groups);

// Methods of deciding. Most rank units by worth; some train first, some drop whole blocks, and some
// factorise layers. One function each, and one line in decide.cc.

// The inputs of a method; they outlive the call.
struct Means {
  Device& device;  // to learn on
  Device& runs;    // the smaller network's device, for times
  const NetworkForBatch& network;
  const fit::TrainingData& data;
  const ShrinkOptions& options;
  const LatencyTable* table = nullptr;  // see decide()
  fit::TrainingCallbacks callbacks = {};
};

struct Decided {
  Decision decision;
  // The network's weights after the epochs counted by epochs_before(); empty: it was not trained.
  Weights weights = {};
};

// Decides by the method that options.importance names. Fails as its parts do, and with kCancelled
// if the callbacks say so.
Result<Decided> decide_by_method(const Means& means);

// array_learning.cc: kLasso, kHoyer.
Result<Decided> learn_sparsely(const Means& means);
// dpruner.cc: kDpruner.
Result<Decided> learn_masks(const Means& means);
// depth.cc: kDepth.
Result<Decided> choose_blocks(const Means& means);
// factor_layers.cc: kSvd, kTucker.
Result<Decided> factorise_layers(const Means& means);

}  // namespace shoal::shrink
