// The steps of a run that take time: learning, judging, measuring.
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

// OK where `recipe` only says how a network learns: a run that makes its networks itself can use
// it. `user` begins the message, as in "exits take".
Status check_recipe(fit::TrainingOptions recipe, const std::string& user,
                    bool allows_from_scratch = false);

// Lets a network learn as the recipe says, with this teacher if recipe.loss.distill is above 0, and
// with this penalty on its units.
// Fails as fit::TrainingLoop does, and with kCancelled if the callbacks say so.
Result<Trained> retrain(Device& device, const NetworkForBatch& network,
                        const NetworkForBatch& teacher, const fit::TrainingData& data,
                        fit::TrainingOptions recipe, const fit::TrainingCallbacks& callbacks,
                        std::optional<train::UnitPenalty> penalty = {});

// The accuracy of a network in percent, in batches of recipe.batch.
Result<double> top1_of(Device& device, const NetworkForBatch& network, const Dataset& examples,
                       const fit::TrainingOptions& recipe);

// The milliseconds that a run of each network takes for one example of noise, the fastest tenth.
// They take turns, so that what else the machine does hits all of them; `seconds` for each in all.
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
