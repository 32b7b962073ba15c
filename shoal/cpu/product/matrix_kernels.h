// The kernels under Gemm, MatMul and their fused forms. Those operators differ only in how they say
// which matrices are multiplied.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
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

// How an operator says which matrices it multiplies; nothing: these kernels do not know how to.
using ProductsOf = std::optional<MatrixProducts>(const KernelSpec& site);

template <ProductsOf* kProducts, auto kMake>
std::unique_ptr<Kernel> make_matrix_kernel(const KernelSpec& site) {
  std::optional<MatrixProducts> products = kProducts(site);
  return products ? kMake(site, *std::move(products)) : nullptr;
}

template <ProductsOf* kProducts, auto kCost>
double matrix_cost(const KernelSpec& site) {
  const std::optional<MatrixProducts> products = kProducts(site);
  return products ? kCost(site, *products) : std::numeric_limits<double>::infinity();
}

// All kernels above, for each of the operators.
template <ProductsOf* kProducts>
std::vector<Provider> product_kernels(std::initializer_list<const Operator*> operators) {
  std::vector<Provider> all;
  for (const Operator* op : operators) {
    all.push_back({op, "block_sparse", make_matrix_kernel<kProducts, make_block_sparse_kernel>});
    all.push_back({op, "sparse", make_matrix_kernel<kProducts, make_sparse_kernel>});
    all.push_back({op, "gemv", make_matrix_kernel<kProducts, make_vector_kernel>});
    all.push_back({op, "gemm", make_matrix_kernel<kProducts, make_product_kernel>,
                   matrix_cost<kProducts, product_cost>});
#ifdef SHOAL_ONEDNN
    all.push_back({op, "onednn", make_matrix_kernel<kProducts, make_onednn_kernel>,
                   matrix_cost<kProducts, onednn_cost>});
#endif
  }
  return all;
}

}  // namespace shoal::cpu
