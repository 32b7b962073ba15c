// Recomputation: a training step in less memory. Of the activations that the backward pass reads,
// some are not kept but computed once more (Chen et al. 2016, "Training deep nets with sublinear
// memory cost").
#pragma once

#include <cstdint>
#include <functional>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// The memory that the values of a graph take, as the device that will run it lays them out.
using BytesOf = std::function<Result<int64_t>(const Graph&)>;

// The step within `limit` bytes, with as little computed again as the search found. The forward
// pass ends with the node that computes `loss`. A repeated node has the inputs it had, so all
// results are the same, bit by bit. Fails with kExhausted if the limit is too low; the message
// names the smallest that was found.
Result<Graph> recompute(const Graph& step, ValueId loss, int64_t limit, const BytesOf& bytes_of);

}  // namespace shoal::train
