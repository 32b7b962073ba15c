// The inner loops of product.h, compiled once per instruction set.
#pragma once

#include "shoal/cpu/product/product.h"

namespace shoal::cpu {

// A rectangle of y and the part of k that is added to it.
struct Block {
  int64_t i, i_end, j, j_end, k, k_end;
};

// The left factor of a block, from (i, k) on: element (r, p) of a panel is
// data[r * row + p * step], and the next panel `stride` further.
struct LeftPanels {
  const float* data;
  int64_t stride, row, step;
};

// The right factor of a block, from (k, j) on.
struct RightPanels {
  const float* data;
  int64_t stride;
};

void multiply_block(const Product& product, const Block& block, const LeftPanels& left,
                    const RightPanels& right);

// Whether tiles had better get this left factor in panels.
bool wants_panels(const Matrix& left);

}  // namespace shoal::cpu
