// Temporal pyramid: what happened in a window, as maxima of features over ever shorter ranges of it
// (Ryoo et al. 2015; [Hadidi 2021, 4.5]).
//
// Level l divides the window into 2^l ranges, as equal as they can be: range r of n items is
// [r n / 2^l, (r + 1) n / 2^l), and at least one item. Four levels are 1 + 2 + 4 + 8 = 15 ranges,
// however long the window is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::windows {

// The maxima, range by range from the first level on: (2^levels - 1) times as many as features of
// an item. REQUIRES: there are items, f32 and of one size; 0 < levels < 16.
std::vector<float> temporal_pyramid(std::span<const Tensor> items, size_t levels = 4);

}  // namespace shoal::windows

#pragma GCC visibility pop
