// Shares: how many micro-batches each worker computes, so that the last is done as early as
// possible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal::learn {

// Splits `total` micro-batches among workers that take so many seconds for one: the greatest of
// share * seconds is as small as it can be [Mao 2017b]. Workers may get none. Equal ones get as
// many, the first ones one more. REQUIRES: there is a worker, every number is above 0, total >= 0.
std::vector<int64_t> shares_of(std::span<const double> seconds, int64_t total);

}  // namespace shoal::learn
