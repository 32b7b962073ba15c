// UnitPenalty: a regularizer whose groups of weights reach over several tensors, such as a channel
// with its filter, its bias, its norm and the slices that read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/model/tensor/tensor.h"
#include "shoal/train/step/optimizer/regularizer.h"

#pragma GCC visibility push(default)

namespace shoal::train {

// With the norm n_u of all slices of unit u, and s their number of elements, the penalty of a group
// is that of Regularizer for its units: sqrt(s) * sum(n) by the lasso, sum(n)^2 / sum(n^2) by
// Hoyer. A value.
struct UnitPenalty {
  // One index of one axis of a weight.
  struct Slice {
    std::string weight;
    size_t axis = 0;
    int64_t index = 0;
  };
  using Unit = std::vector<Slice>;
  Regularizer::Penalty penalty = Regularizer::Penalty::kLasso;
  double strength = 0;
  // Groups of units that compete with each other. A weight may be in several units, and slices may
  // overlap: each counts.
  std::vector<std::vector<Unit>> groups = {};
};

// The penalty, its strength included; adds its gradients to `gradients`. Slices of weights that are
// not among `names` do not count. Threads may call it at once for different gradients. REQUIRES:
// there are as many names, weights and gradients; gradients have the types of their weights, f32 or
// f64; slices are within them.
double regularize(const UnitPenalty& penalty, std::span<const std::string> names,
                  std::span<const Tensor> weights, std::span<Tensor> gradients);

}  // namespace shoal::train

#pragma GCC visibility pop
