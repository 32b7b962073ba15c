// Memory plans: where the values of a graph lie while it runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal {

// A piece of memory and the steps, both ends included, during which it is needed.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

struct MemoryLayout {
  std::vector<int64_t> offsets;  // one per lifetime, multiples of the alignment
  int64_t bytes = 0;             // where the last one ends
};

inline constexpr int64_t kHostAlignment = 64;  // a cache line, and the widest vector register

// Offsets at which no two lifetimes of the same step overlap. Tries several orders and keeps the
// best; on very wide graphs only the one that takes n log n. REQUIRES: alignment > 0.
MemoryLayout lay_out(std::span<const Lifetime> lifetimes, int64_t alignment = kHostAlignment);

// The largest sum of bytes alive in one step, a lower bound of any layout.
int64_t largest_live_set(std::span<const Lifetime> lifetimes);

// Graph inputs and constants are not in the arena, nor are graph outputs, which are computed in the
// caller's memory.
struct Place {
  enum class Kind : uint8_t { kElsewhere, kArena, kOutput };
  Kind kind = Kind::kElsewhere;
  int64_t at = 0;  // the offset in the arena, or the index in graph.outputs()
};

struct MemoryPlan {
  std::vector<Place> places;  // one per value of the graph
  int64_t arena_bytes = 0;
  int64_t live_bytes = 0;    // the largest live set of the arena
  int64_t caller_bytes = 0;  // inputs and outputs, there from the first step to the last
};

// Nodes run in the graph's order, one after the other. Output 0 takes the place of input 0 if the
// operator is `in_place`, both have the same number of bytes and no later node reads input 0.
// Offsets are multiples of `alignment`, that of the device's DeviceInfo.
MemoryPlan plan_memory(const Graph& graph, int64_t alignment = kHostAlignment);

}  // namespace shoal
