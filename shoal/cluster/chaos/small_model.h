// A model that is small enough for millions of histories and still exercises all features of plans:
// two layers to split by rows or channels, halos, codes, and versions whose answers differ.
#pragma once

#include "shoal/model/graph/graph.h"
#include "shoal/plan/profile.h"

namespace shoal::chaos {

// Two convolutions, each followed by an activation, so that they cannot be merged into one.
Result<Graph> make_small_model(int64_t channels, size_t version);
Tensor make_small_input(int64_t channels, uint64_t number);

// "worker-0" and so on: so slow, and so well connected, that every plan uses all of them.
plan::ClusterProfile slow_workers(int count);

}  // namespace shoal::chaos
