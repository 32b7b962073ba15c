// The kernels under Gemm, MatMul and their fused forms. Those operators differ only in how they say
// which matrices are multiplied.
#pragma once

#include <vector>

#include "shoal/cpu/kernel.h"
#include "shoal/cpu/product/addend.h"
#include "shoal/cpu/product/product.h"

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

// What the kernels have in common: all but the product itself.
class MatrixKernel : public Kernel {
 public:
  explicit MatrixKernel(MatrixProducts products) : products_(std::move(products)) {}
  size_t scratch_bytes() const override {
    return static_cast<size_t>(products_.addend.scratch_floats()) * sizeof(float);
  }

 protected:
  // The product of one pair, but for its factors.
  Product describe(const Pair& pair, const KernelArgs& call) const;
  // Where either factor is a vector: what follows the product, for the elements [begin, end) of y.
  void finish(const Product& product, int64_t begin, int64_t end) const;

  const float* a_of(const Pair& pair, const KernelArgs& call) const {
    return call.input(0) + pair.a * products_.m * products_.k;
  }
  const float* b_of(const Pair& pair, const KernelArgs& call) const {
    return call.input(1) + pair.b * products_.k * products_.n;
  }

  const MatrixProducts products_;
};

// The activation of a fused node; none of another.
Activation activation_of(const KernelSpec& site);

// One row on the left, and constants on the right so few of which are not zero that it is faster to
// skip them. Null where it is not.
std::unique_ptr<Kernel> make_sparse_kernel(const KernelSpec& site, MatrixProducts products);
std::unique_ptr<Kernel> make_block_sparse_kernel(const KernelSpec& site, MatrixProducts products);

// One row on the left or one column on the right: every element of the other factor, read where it
// lies, is used once. Null where there are more.
std::unique_ptr<Kernel> make_vector_kernel(const KernelSpec& site, MatrixProducts products);

// For any sizes. Constant matrices b are packed. Competes where no factor is a vector, for which
// those above are better.
std::unique_ptr<Kernel> make_product_kernel(const KernelSpec& site, MatrixProducts products);
double product_cost(const KernelSpec& site, const MatrixProducts& products);

#ifdef SHOAL_ONEDNN
// One product whose right factor is constant, on one thread.
std::unique_ptr<Kernel> make_onednn_kernel(const KernelSpec& site, MatrixProducts products);
double onednn_cost(const KernelSpec& site, const MatrixProducts& products);
#endif

}  // namespace shoal::cpu
