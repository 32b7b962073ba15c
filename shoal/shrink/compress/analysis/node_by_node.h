// Runs a graph node by node on several examples at once, with a hook to change values in between.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"

namespace shoal::compress {

// Called after each node with its first output of each example, whose elements it may change.
using AfterNode = std::function<void(const Node& node, std::span<Tensor> outputs)>;
// Called before each node with its first input of each example, none if that is a constant. Returns
// constants to replace the node's own, by input.
using BeforeNode =
    std::function<std::map<size_t, Tensor>(const Node& node, std::span<const Tensor> inputs)>;

// Either may be empty. Values are kept until their last reader ran. Fails as the device does.
// REQUIRES: each example has the graph's inputs, in its order.
Status run_node_by_node(const Graph& graph, Device& device,
                        const std::vector<std::vector<Tensor>>& examples, const AfterNode& after,
                        const BeforeNode& before = {});

}  // namespace shoal::compress
