// What goes: the decision between the given network and the smaller one, and how it reads.
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

// The part of the examples to look at: number `number` of `rounds`.
struct Round {
  size_t number = 0, rounds = 1;
};

// The worth of every unit of `groups`, which are those of `network`, by this importance, once the
// units `gone` are masked. Examples are looked at by kTaylor, kLasso and kHoyer, in order; each
// round takes up where the last one ended. Fails as the device and the data do, and with
// kInvalidArgument where examples are needed and there are none. REQUIRES: the network takes
// batches of recipe.batch images.
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

// The units of least worth, until the target is met, in rounds; worths that are changes of the loss
// for what they save. A target of time is met by `table`, which also gives the predicted times;
// without such a target it may be null. With `learned`, that is asked in place of worth_of(). Fails
// as both, compress::choose() and choose_by_time() do, and with kUnsupported where the network has
// nothing to remove. REQUIRES: the table is one of the groups of the network for one example.
Result<Decision> decide(Device& device, const NetworkForBatch& network, const Dataset& examples,
                        const ShrinkOptions& options, const LatencyTable* table = nullptr,
                        WorthInRound learned = {});

// What is left of each group that loses some of these units, what is left of one group by its
// weights, and what of the graph cannot be touched. Pure. REQUIRES: the groups are those of the
// graph.
std::vector<GroupLeft> removed_by(const Graph& graph, const compress::Groups& groups,
                                  std::span<const size_t> units);
GroupLeft described(const Graph& graph, const compress::Groups& groups,
                    const compress::Group& group, size_t left);
std::vector<RefusedAxis> refused_by(const Graph& graph, const compress::Groups& groups);

// Methods: the ways to decide what goes. Most rank units by their worth; some let the
// network learn first, some drop whole blocks, and some put factors in place of layers. One
// function each, and one line in decide.cc.

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

// array_learning.cc: kLasso, kHoyer.
Result<Decided> learn_sparsely(const Means& means);
// dpruner.cc: kDpruner.
Result<Decided> learn_masks(const Means& means);
// depth.cc: kDepth.
Result<Decided> choose_blocks(const Means& means);
// factor_layers.cc: kSvd, kTucker.
Result<Decided> factorise_layers(const Means& means);

}  // namespace shoal::shrink
