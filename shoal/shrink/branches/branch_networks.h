// Networks of branches as functions of the batch: learning, judging and writing a file need the
// same network for different batches.
#pragma once

#include <utility>

#include "shoal/shrink/branches/make_branches.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::branch {

// A network changed as a graph, whatever the batch.
template <class Change>
fit::NetworkForBatch changed(fit::NetworkForBatch network, Change change) {
  return [network = std::move(network),
          change = std::move(change)](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
    SHOAL_ASSIGN(loaded.graph, change(loaded.graph));
    return loaded;
  };
}

// A network as branches, in this form.
inline fit::NetworkForBatch in_branches(const fit::NetworkForBatch& network,
                                        const BranchOptions& options, const BranchForm& form = {}) {
  return changed(network, [options, form](const Graph& graph) -> Result<Graph> {
    SHOAL_ASSIGN(Branched made, make_branches(graph, options, form));
    return std::move(made.graph);
  });
}

}  // namespace shoal::branch
