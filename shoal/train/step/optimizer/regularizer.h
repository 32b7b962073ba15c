// Regularizers: penalties that make weights small or whole groups zero, to save computation and
// traffic.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::train {

// A penalty is a function of the norms n of a weight's groups: L1 is the lasso of elements, L2
// their square, Hoyer-square their Hoyer (Yang et al. 2020), and each has its form for groups.
struct Regularizer {
  // The function of the norms.
  enum class Penalty {
    kLasso,   // sum(n)
    kSquare,  // sum(n^2)
    kHoyer,   // sum(n)^2 / sum(n^2): from 1, one group is left, to their number; of any scale
  };
  // The groups of a weight [a, b, ...], which as a matrix is [a, b * ...].
  enum class Groups {
    kElements,
    kFilters,   // each index of the first axis: rows of the matrix
    kChannels,  // each index of the second axis
    kColumns,   // of the matrix
    kBlocks,    // squares of the matrix, cut off at its edges
    // Outliers. Rows and columns of the matrix are divided into `clusters` equal parts; blocks on
    // the diagonal are free. Elsewhere, a column (or row, if there are fewer rows) of a block is a
    // group: it makes one value travel when workers compute a block each (plan/sparse/clusters.h).
    kClusters,
  };
  Penalty penalty = Penalty::kLasso;
  Groups groups = Groups::kElements;
  double strength = 0;
  int64_t block = 4;                                   // side of kBlocks
  int64_t clusters = 4;                                // of kClusters
  std::function<bool(std::string_view)> applies = {};  // to the weight of this name; null: to all
};

// "penalty:groups:strength[:pattern]": "lasso:filters:1e-4", "hoyer:columns:1e-3:fc*". Penalties
// are lasso, square and hoyer; groups are elements, filters (or rows), channels, columns, blocks
// and clusters2 to clusters64; the shell pattern selects weights by name. kInvalidArgument for any
// other text.
Result<Regularizer> parse_regularizer(std::string_view text);

// The penalty of a weight, strength included; adds its gradient to `gradient`. Safe for concurrent
// use with different gradients. REQUIRES: both are f32, or f64, of at least two dimensions.
double regularize(const Regularizer& regularizer, const Tensor& weight, Tensor& gradient);

// The weight with groups whose norm is at most `share` of the largest set to zero, which gradients
// alone never reach. REQUIRES: as above; `share` is below 1.
Tensor without_small_groups(const Regularizer& regularizer, const Tensor& weight, double share);

// The penalty of these norms, without strength. Replaces each norm by a factor: the gradient of a
// weight is the weight times it. A zero group stays zero: the lasso's subgradient there is 0. Pure.
double penalize(Regularizer::Penalty penalty, std::span<double> norms);

// UnitPenalty: a regularizer on groups that span several tensors, such as a channel with its
// filter, its bias, its norm and the slices that read it.

// With n_u the norm of all slices of unit u, and s their number of elements, the penalty of a group
// is that of Regularizer: sqrt(s) * sum(n) by the lasso, sum(n)^2 / sum(n^2) by Hoyer. A value.
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
  // Groups of units that compete. A weight may be in several units, and overlapping slices each
  // count.
  std::vector<std::vector<Unit>> groups = {};
};

// The penalty, strength included; adds its gradients to `gradients`. Slices of weights not in
// `names` are ignored. Safe for concurrent use with different gradients. REQUIRES: equally many
// names, weights and gradients; gradients have the types of their weights, f32 or f64; slices are
// in range.
double regularize(const UnitPenalty& penalty, std::span<const std::string> names,
                  std::span<const Tensor> weights, std::span<Tensor> gradients);

}  // namespace shoal::train

#pragma GCC visibility pop
