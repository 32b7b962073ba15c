// The inner loop of image_columns.h (im2col), compiled once per instruction set.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/engine/cpu/conv_loops/image_columns.h"

namespace shoal::cpu {

// Fills rows [k, k_end) of one panel whose columns are the outputs in `runs`, followed by zeros.
// Stores whole vectors, and so writes up to kPanelSlack floats beyond the end.
void gather(const ImageGeometry& geometry, std::span<const float> x,
            std::span<const OutputRun> runs, int64_t k, int64_t k_end, float* panel);

}  // namespace shoal::cpu
