// EquivalenceCheck: requests whose answers are known from another device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"

namespace shoal::chaos {

// Whether these are the same outputs: equal to kSameAnswer of the largest element
// (model/tensor/compare.h), with the largest element in the same place.
bool outputs_match(std::span<const Tensor> got, std::span<const Tensor> want);

class EquivalenceCheck {
 public:
  struct Request {
    std::vector<Tensor> inputs, expected;
  };

  // Lets `device` compute the answers to a few random inputs: several, so that the answer to
  // another request is not taken for right.
  static Result<EquivalenceCheck> make(const Graph& graph, Device& device, uint64_t seed);

  std::span<const Request> requests() const { return requests_; }

 private:
  EquivalenceCheck() = default;

  std::vector<Request> requests_;
};

}  // namespace shoal::chaos
