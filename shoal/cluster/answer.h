// Answer: the outputs of a request, put together from the pieces that workers send.
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/part.h"

namespace shoal::cluster {

class Answer {
 public:
  // Outputs that are inputs or constants are there at once.
  Answer(const Graph& graph, std::span<const Tensor> inputs);

  // The first that comes counts: what comes again, from whomever, changes nothing.
  void put(const plan::Piece& piece, const Tensor& elements);

  bool complete() const;
  bool awaits(const plan::Piece& piece) const;  // any of it
  std::vector<Tensor> take() { return std::move(outputs_); }

 private:
  std::vector<ValueId> values_;  // by output, as all of these
  std::vector<Tensor> outputs_;
  std::vector<std::vector<Region>> missing_;
};

}  // namespace shoal::cluster
