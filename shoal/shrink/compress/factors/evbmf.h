// EVBMF: how many singular values of a matrix stand out of its noise.
#pragma once

#include <cstddef>
#include <span>

namespace shoal::compress {

// The rank that empirical variational Bayesian matrix factorisation gives a rows x columns matrix
// with these singular values, from 1 to their number. It is an estimate to start from: planted
// ranks are found exactly up to a quarter of the rows at a signal three times the noise and up to
// half of them at a hundred times, and larger ones come out too small. Without noise it is the
// number of values that are not zero. Of a matrix whose elements have one sign it may be 1, because
// the mean outweighs all the rest.
//
// REQUIRES: the values are finite, not negative and in descending order; there are as many as the
// smaller of rows and columns, and at least one.
size_t evbmf_rank(std::span<const double> singular_values, size_t rows, size_t columns);

}  // namespace shoal::compress
