// Answer: the outputs of a request, put together from the pieces that workers send.
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/part.h"

namespace shoal::cluster {

// Not thread-safe: Requests guards it.
class Answer {
 public:
  // Outputs that are inputs of the graph, or constants, are complete at once.
  Answer(const Graph& graph, std::span<const Tensor> inputs);

  // Elements that are already there stay: if several workers send a piece, the first one counts.
  // REQUIRES: `elements` has the shape of the piece.
  void put(const plan::Piece& piece, const Tensor& elements);

  bool complete() const;
  bool awaits(const plan::Piece& piece) const;  // any part of it
  // REQUIRES: complete(). Once only.
  std::vector<Tensor> take() { return std::move(outputs_); }

 private:
  std::vector<ValueId> values_;  // by output, as all of these
  std::vector<Tensor> outputs_;
  std::vector<std::vector<Region>> missing_;
};

}  // namespace shoal::cluster
