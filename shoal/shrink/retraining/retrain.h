// The steps of a run that take time: training, evaluating, measuring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/run/loop/training_loop.h"

namespace shoal::shrink {

// A network after its last epoch.
struct Trained {
  NetworkForBatch network;
  double held_out_top1 = 0;
  Weights weights;  // that the network has now
};

// OK if `recipe` has only what a run that makes its own networks can use. `user` begins the
// message, as in "exits take".
Status check_recipe(fit::TrainingOptions recipe, const std::string& user,
                    bool allows_from_scratch = false);

// Trains a network by the recipe, with this teacher if recipe.loss.distill is above 0, and this
// penalty on its units. Fails as fit::TrainingLoop does; kCancelled if the callbacks say so.
Result<Trained> retrain(Device& device, const NetworkForBatch& network,
                        const NetworkForBatch& teacher, const fit::TrainingData& data,
                        fit::TrainingOptions recipe, const fit::TrainingCallbacks& callbacks,
                        std::optional<train::UnitPenalty> penalty = {});

// The accuracy of a network in percent, in batches of recipe.batch.
Result<double> top1_of(Device& device, const NetworkForBatch& network, const Dataset& examples,
                       const fit::TrainingOptions& recipe);

// The fastest tenth of each network's run times in milliseconds, for one example of noise;
// `seconds` for each. Networks take turns, so that disturbances hit all of them.
Result<std::vector<double>> measured_ms(Device& device,
                                        const std::vector<NetworkForBatch>& networks,
                                        double seconds);

// Channels of each stage's end; empty: of none.
using StageChannels = std::vector<std::vector<int64_t>>;

// The channels that go with these units. Pure. REQUIRES: the groups are those of the graph, and
// units are numbers of theirs.
StageChannels channels_of(const Graph& graph, const compress::Groups& groups,
                          std::span<const size_t> units);

// The network with the ends of its stages as further outputs, without these channels. Fails with
// kInvalidArgument if the network has no such stages or channels.
NetworkForBatch with_features(NetworkForBatch teacher, StageChannels gone);

}  // namespace shoal::shrink
