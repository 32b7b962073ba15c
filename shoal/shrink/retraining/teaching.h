// What a teacher gives besides its scores: the ends of its stages (train/step/graph/features.h),
// without the channels that its pupil lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::shrink {

// Channels of each stage's end; empty: of none.
using StageChannels = std::vector<std::vector<int64_t>>;

// The channels that go with these units. Pure. REQUIRES: the groups are those of the graph, and
// units are numbers of theirs.
StageChannels channels_of(const Graph& graph, const compress::Groups& groups,
                          std::span<const size_t> units);

// The network with the ends of its stages as further outputs, without these channels. Fails with
// kInvalidArgument where the network has no such stages or channels.
NetworkForBatch with_features(NetworkForBatch teacher, StageChannels gone);

}  // namespace shoal::shrink
