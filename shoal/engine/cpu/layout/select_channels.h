// SelectChannels: an image in blocks (blocked.h) that takes its channels from others. Concat,
// Split, Slice and the shuffle of channels are all of this kind, and so are several of them in a
// row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::cpu {

// Channel i of the result is channel from[i] of the inputs, counted through all of them. Input k
// has channels[k] channels.
extern const Operator select_channels;

// The inner loop of SelectChannels, compiled once per instruction set.

// Floats in a vector, to which the loop is bound.
int64_t select_block();

// What one block of the result takes from one block of an input.
struct LaneSource {
  size_t input;                // of the node
  int64_t block;               // of its channels
  std::vector<int32_t> lanes;  // lane of the source for each lane of the result; 0 if none
  std::vector<int32_t> taken;  // all ones if the result takes that lane, else 0
};

// Limited by the registers for their permutations.
inline constexpr size_t kMostLaneSources = 4;

// A block of the result, pixel by pixel. x[i] is the first pixel of source i. Lanes without a
// source become zero or, if sources are added to the result, do not change. REQUIRES: 0 <
// sources.size() <= kMostLaneSources.
void select_lanes(std::span<const LaneSource> sources,
                  const std::array<const float*, kMostLaneSources>& x, bool adds, int64_t pixels,
                  float* y);

}  // namespace shoal::cpu
