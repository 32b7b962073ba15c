// Messages in fewer bytes than values are computed with, the image among them: what attempts allow
// the planner, and what that does to answers.
#pragma once

#include <optional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/search/planner.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::fit_cluster {

// What may travel in this format, with the ranges that values take on some of the examples. `graph`
// is for one image. Fails as the examples and the device do.
Result<plan::WireOptions> messages_in(plan::WireFormat format, const Graph& graph, Device& device,
                                      const Dataset& examples, const fit::TrainingOptions& recipe);

// The fastest of these plans with messages of at most so many bytes; nothing: none is faster than
// the first of them, which is the best without. REQUIRES: there are plans, for this graph.
Result<std::optional<plan::Prediction>> faster_by_messages(
    const Graph& graph, const plan::ClusterProfile& cluster, const plan::WireOptions& wire,
    const std::vector<plan::Prediction>& plans);

// What a plan answers, for batches of one: the rounding is in its graph.
fit::NetworkForBatch as_planned(const plan::Prediction& made);

}  // namespace shoal::fit_cluster
