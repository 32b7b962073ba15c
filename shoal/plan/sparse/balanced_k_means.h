// k-means with a capacity for each cluster. Plain k-means makes clusters of very unequal sizes
// where the data has more groups than clusters are wanted [Mao 2017a].
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "shoal/base/math/matrix.h"
#include "shoal/base/math/random.h"

namespace shoal::plan {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The cluster of each point, a row of `points`. A cluster is filled above its capacity only where
// none has room, and then by no more than one point, if the capacities add up to the weights or
// more. REQUIRES: a weight for each point; a capacity, and it is positive.
std::vector<size_t> balanced_k_means(const Matrix& points, std::span<const double> weights,
                                     std::span<const double> capacities, RandomStream random);

}  // namespace shoal::plan
