// A network built again with other constants or another batch, all types inferred anew.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// With these constants, by name, for those that it has. Their shapes may be others.
Result<Graph> rebuilt(const Graph& network, const std::map<std::string, Tensor>& constants);

// With other elements for the constants of these names; types must be the same, and all there.
Result<Graph> with_constants(const Graph& network, const std::map<std::string, Tensor>& constants);

// For batches of another size: the first axis of its one input. Refuses networks in which a
// constant, such as the target of a Reshape, knows the batch.
Result<Graph> rebatched(const Graph& network, int64_t batch);

}  // namespace shoal::train
