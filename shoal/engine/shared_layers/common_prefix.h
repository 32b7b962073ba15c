// The first layers that several networks have in common [Han 2016]: stored once, and run once for
// an input that all of them are asked about.
//
//   memory  = bytes of the prefix + the sum of those of the suffixes
//   compute = the prefix once for an input + the suffixes that are asked for
//
// A node is common if every network has one of the same operator, attributes and inputs, constants
// compared by their elements. What it reads is then common, too, so that common nodes are first
// layers. A node that gives an output of a network is never common: every network keeps a suffix.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::prefix {

// What one network has beside the prefix.
struct Suffix {
  Graph graph;                        // its inputs are values of the prefix, then of the network
  std::vector<size_t> from_prefix;    // of the first inputs: which output of the prefix each is
  std::vector<size_t> from_networks;  // of the others: which input of the network each is
};

struct CommonPrefix {
  Graph prefix;  // the inputs of the networks; what suffixes read
  std::vector<Suffix> suffixes;
};

// The longest prefix of all networks, which passes have optimised. kInvalidArgument where they have
// nothing in common, or inputs of different types. REQUIRES: there is a network.
Result<CommonPrefix> common_prefix(std::span<const Graph> networks);

}  // namespace shoal::prefix
