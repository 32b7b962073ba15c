// SelectChannels: an image in blocks (blocked.h) that takes its channels from others. Concat,
// Split, Slice and the shuffle of channels are all of this kind, and so are several of them in a
// row.
#pragma once

#include "shoal/model/graph/graph.h"

namespace shoal::cpu {

// Channel i of the result is channel from[i] of the inputs, counted through all of them. Input k
// has channels[k] channels.
extern const Operator select_channels;

}  // namespace shoal::cpu
