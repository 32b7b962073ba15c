// Regularizers: penalties on groups of weights, which make weights small or whole groups zero, so
// that there is less to compute and to send.
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

// A penalty is a function of the norms n of the groups of a weight, so that six names are two
// choices: L1 is the lasso of elements, L2 their square, Hoyer-square their Hoyer (Yang et al.
// 2020), and each has its form for groups.
struct Regularizer {
  // The function of the norms.
  enum class Penalty {
    kLasso,   // sum(n)
    kSquare,  // sum(n^2)
    kHoyer,   // sum(n)^2 / sum(n^2): from 1, one group is left, to their number; of any scale
  };
  // How a weight [a, b, ...], which as a matrix is [a, b * ...], falls into groups.
  enum class Groups {
    kElements,
    kFilters,   // each index of the first axis: rows of the matrix
    kChannels,  // each index of the second axis
    kColumns,   // of the matrix
    kBlocks,    // squares of the matrix, those at the end cut off
    // Outliers. With rows and columns of the matrix divided into `clusters` equal parts, blocks of
    // a row's and a column's part of the same number are free of the penalty. What lies in another
    // part of a column is a group (or of a row, where there are fewer rows): it makes one value
    // travel where workers compute a block each (plan/sparse/clusters.h).
    kClusters,
  };
  Penalty penalty = Penalty::kLasso;
  Groups groups = Groups::kElements;
  double strength = 0;
  int64_t block = 4;                                   // side of kBlocks
  int64_t clusters = 4;                                // of kClusters
  std::function<bool(std::string_view)> applies = {};  // to the weight of this name; none: to all
};

// From "penalty:groups:strength" or "penalty:groups:strength:pattern": "lasso:filters:1e-4",
// "hoyer:columns:1e-3:fc*". Penalties are lasso, square and hoyer; groups are elements, filters (or
// rows), channels, columns, blocks and clusters2 to clusters64; the shell pattern names the weights
// it applies to. Fails with kInvalidArgument for another text.
Result<Regularizer> parse_regularizer(std::string_view text);

// The penalty of a weight, its strength included; adds its gradient to `gradient`. Threads may call
// it at once for different gradients. REQUIRES: f32 or f64, the same type for both, of at least two
// dimensions: biases and norms are not what is pruned.
double regularize(const Regularizer& regularizer, const Tensor& weight, Tensor& gradient);

// The weight with all groups at zero whose norm is at most `share` of the largest: a penalty makes
// them small, and gradients never quite zero. REQUIRES: as above; `share` is below 1.
Tensor without_small_groups(const Regularizer& regularizer, const Tensor& weight, double share);

// The penalty of these norms, without its strength. Replaces each by the factor of its group: the
// gradient of a weight is the weight times this. A group that is zero stays zero: the lasso has no
// gradient there, and its subgradient 0 is chosen. Pure.
double penalize(Regularizer::Penalty penalty, std::span<double> norms);

// UnitPenalty: a regularizer whose groups of weights reach over several tensors, such as a channel
// with its filter, its bias, its norm and the slices that read it.

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
