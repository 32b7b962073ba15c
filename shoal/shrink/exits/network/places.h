// Places for exits: values on the way from the input of a classifier to its scores.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::exits {

// OK if exits can be added to the network: one input with a batch, one output [batch, classes]
// of f32, nothing quantised (kUnsupported).
Status check_classifier(const Graph& network);

// The values of these names, in network order. kInvalidArgument, with the name, if there is no such
// value, it is not features [batch, c] or [batch, c, h, w] of f32, or the scores do not depend on
// it; and for no or repeated names. REQUIRES: check_classifier().
Result<std::vector<ValueId>> find_places(const Graph& network, std::span<const std::string> names);

// The values nearest to these shares of the network's multiply-accumulates, all different. Only
// values that everything later depends on: the ends of residual blocks, pools, layers of a chain.
// kInvalidArgument if there are too few. REQUIRES: check_classifier(); shares ascend.
Result<std::vector<ValueId>> places_at(const Graph& network, std::span<const double> shares);

// `count` values that divide the multiply-accumulates as evenly as the network allows.
Result<std::vector<ValueId>> even_places(const Graph& network, size_t count);

}  // namespace shoal::exits
