// The inner loop of image_columns.h, compiled once per instruction set.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/cpu/conv/image_columns.h"

namespace shoal::cpu {

// Fills the rows [k, k_end) of one panel whose columns are the outputs in `runs`, zeros after
// them. Writes whole vectors, and so kPanelSlack beyond the end.
void gather(const ImageGeometry& geometry, std::span<const float> x,
            std::span<const OutputRun> runs, int64_t k, int64_t k_end, float* panel);

}  // namespace shoal::cpu
