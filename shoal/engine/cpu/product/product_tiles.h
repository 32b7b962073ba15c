// The inner loops of product.h, compiled once per instruction set.
#pragma once

#include "shoal/engine/cpu/product/product.h"

namespace shoal::cpu {

// A rectangle of y, and the part of k that a pass adds to it.
struct Block {
  int64_t i, i_end, j, j_end, k, k_end;
};

// Left factor of a block, from (i, k) on. Element (r, p) of a panel is data[r * row + p * step],
// and the next panel lies `stride` further. That describes packed panels and matrices in place
// alike.
struct LeftPanels {
  const float* data;
  int64_t stride, row, step;
};

// Right factor of a block, from (k, j) on, in panels `stride` apart.
struct RightPanels {
  const float* data;
  int64_t stride;
};

// One pass: y (+)= left * right over the block, with the epilogue in the last pass.
void multiply_block(const Product& product, const Block& block, const LeftPanels& left,
                    const RightPanels& right);

// True if packing this left factor into panels is faster than reading it in place.
bool wants_panels(const Matrix& left);

}  // namespace shoal::cpu
