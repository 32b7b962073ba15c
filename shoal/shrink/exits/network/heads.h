// Exits added to a classifier.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/exits/network/multi_exit.h"

namespace shoal::exits {

// A network with untrained exits.
struct WithHeads {
  MultiExit network = {};
  std::vector<std::vector<std::string>> weights = {};  // per exit: the constants that are its own
};

// Adds an exit at each of the places. With aggregation, exit i > 1 reads features of the exit
// before it, too:
//
//   g = concat(maxpool(a[i-1]) to the size of f[i], f[i]),   a[i] = relu(norm(conv1x1(g)))
//
// where f[i] is the value at its place, a[1] = f[1], and a[i] has as many channels as f[i] (Huynh
// 2019, 5.2). The head reads a[i]: a mean over the image and a Gemm, after up to two 3 x 3
// convolutions of stride 2 with norm and rectifier for HeadOptions::Kind::kConv. Fresh weights
// follow from the seed. REQUIRES: check_classifier(), and places as find_places() gives them.
Result<WithHeads> add_heads(const Graph& network, std::span<const ValueId> places,
                            const HeadOptions& options);

}  // namespace shoal::exits
