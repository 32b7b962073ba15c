// The inner loops of product.h, compiled once per instruction set.
#pragma once

#include "shoal/cpu/product.h"

namespace shoal::cpu {

// A rectangle of y and the part of k that is added to it.
struct Block {
  int64_t i, i_end, j, j_end, k, k_end;
};

// left: the panels from row i on, `left_stride` floats apart, at element k; right: the panels of
// the block.
void multiply_block(const Product& product, const Block& block, const float* left,
                    int64_t left_stride, const float* right);

void pack_columns(const Matrix& matrix, int64_t k, int64_t n, float* panels);

}  // namespace shoal::cpu
