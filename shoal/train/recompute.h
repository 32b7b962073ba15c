// Recomputation: a step of training in less memory. What the way forward made is not all kept for
// the way back; some of it is computed there once more (Chen et al. 2016).
#pragma once

#include <cstdint>
#include <functional>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::train {

// What the values of a graph take in memory, as the device that is to run it lays them out.
using BytesOf = std::function<Result<int64_t>(const Graph&)>;

// The step with as little computed again as was found for `limit` bytes. The way forward ends with
// the node that makes `loss`. Every node that is repeated has the inputs it had, so all results are
// the same, bit by bit. Where the limit is too low the error says what could be done with.
Result<Graph> recompute(const Graph& step, ValueId loss, int64_t limit, const BytesOf& bytes_of);

}  // namespace shoal::train
