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

// The values of these names, the first on the way first. kInvalidArgument, with the name, where
// there is no such value, it is no features [batch, c] or [batch, c, h, w] of f32, or the scores do
// not depend on it; and where there is none or one is named twice. REQUIRES: check_classifier().
Result<std::vector<ValueId>> find_places(const Graph& network, std::span<const std::string> names);

// The values nearest to these shares of the multiply-accumulates of the network, a different one
// for each. Only values are taken through which all goes that follows: the ends of residual blocks,
// pools, layers of a chain. kInvalidArgument where there are too few. REQUIRES: check_classifier();
// shares ascend.
Result<std::vector<ValueId>> places_at(const Graph& network, std::span<const double> shares);

// `count` values that divide the multiply-accumulates of the network as evenly as its structure
// allows: places_at() of equal steps.
Result<std::vector<ValueId>> even_places(const Graph& network, size_t count);

}  // namespace shoal::exits
