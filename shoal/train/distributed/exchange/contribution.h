// What a worker sends in a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::learn {

// Sums over the micro-batches [first, end) of a step, each divided by the number of all. Where the
// codec is exact, one message for each node of subtrees_of(first, end), in order; otherwise one.
struct Contribution {
  int64_t first = 0, end = 0;
  double loss = 0;  // the sum of theirs, divided likewise
  std::vector<std::byte> message = {};
};

}  // namespace shoal::learn
