// The kernels under Gemm, MatMul and their fused forms. Those operators differ only in how they say
// which matrices are multiplied.
#pragma once

#include <vector>

#include "shoal/cpu/addend.h"
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/product.h"

namespace shoal::cpu {

// One product of a stack: which matrices of the inputs it multiplies, and where it puts the result.
struct Pair {
  int64_t a, b, y;
};

// y = activation(scale * a * b + addend), for all pairs.
struct MatrixProducts {
  int64_t m = 0, n = 0, k = 0;
  std::vector<Pair> pairs;
  Matrix a, b;  // the strides of each matrix
  float scale = 1;
  Addend addend;
  Activation activation;
};

// The activation of a fused node; none of another.
Activation activation_of(const Site& site);

// One row on the left or one column on the right: every element of the other factor, read where it
// lies, is used once. Null where there are more.
std::unique_ptr<Kernel> make_vector_kernel(const Site& site, MatrixProducts products);

// For any sizes. Constant matrices b are packed.
std::unique_ptr<Kernel> make_product_kernel(const Site& site, MatrixProducts products);

}  // namespace shoal::cpu
