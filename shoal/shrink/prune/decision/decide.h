// What goes: the decision between the given network and the smaller one, and how it reads.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/choice.h"
#include "shoal/shrink/prune/decision/worth.h"
#include "shoal/shrink/prune/latency/latency_table.h"
#include "shoal/shrink/prune/result.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/data/dataset.h"

namespace shoal::shrink {

// Units to remove, of the groups of the network for one example.
struct Decision {
  compress::Groups groups;
  Choice choice;
};

// The worth of every unit once the units `gone` are.
using WorthInRound =
    std::function<Result<std::vector<double>>(std::span<const size_t> gone, Round round)>;

// The units of least worth, until the target is met, in rounds; worths that are changes of the loss
// for what they save. A target of time is met by `table`, which also gives the predicted times;
// without such a target it may be null. With `learned`, that is asked in place of worth_of(). Fails
// as both, compress::choose() and choose_by_time() do, and with kUnsupported where the network has
// nothing to remove. REQUIRES: the table is one of the groups of the network for one example.
Result<Decision> decide(Device& device, const NetworkForBatch& network, const Dataset& examples,
                        const ShrinkOptions& options, const LatencyTable* table = nullptr,
                        WorthInRound learned = {});

// What is left of each group that loses some of these units, what is left of one group by its
// weights, and what of the graph cannot be touched. Pure. REQUIRES: the groups are those of the
// graph.
std::vector<GroupLeft> removed_by(const Graph& graph, const compress::Groups& groups,
                                  std::span<const size_t> units);
GroupLeft described(const Graph& graph, const compress::Groups& groups,
                    const compress::Group& group, size_t left);
std::vector<RefusedAxis> refused_by(const Graph& graph, const compress::Groups& groups);

}  // namespace shoal::shrink
