// The network for a few classes: the body of a trained network up to some value, and a fresh linear
// head for the classes (retarget [Han 2016]).
#pragma once

#include <cstdint>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::catalog {

// Where a body ends: a value by name; kAuto: the one nearest to a third of the work of the network;
// kHead: the input of its last layer.
inline constexpr const char *kAuto = "auto", *kHead = "head";

// The name of that value. kInvalidArgument if the network has none.
Result<std::string> end_of_body(const Graph& network, const std::string& at);

// The body up to the value of this name: features [batch, n]. Images of features are averaged over
// windows until there are few of them, because all examples' features are stored.
Result<Graph> body_of(const Graph& network, const std::string& end);

// Linear scores of so many classes, of features [batch, n]. Weights follow from the seed.
Result<Graph> make_head(const TensorType& features, int64_t classes, uint64_t seed);

// One after the other. REQUIRES: the head reads what the body gives.
Result<Graph> joined(const Graph& body, const Graph& head);

}  // namespace shoal::catalog
