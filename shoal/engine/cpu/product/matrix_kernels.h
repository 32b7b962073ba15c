// The kernels under Gemm, MatMul and their fused forms. The operators differ only in the matrices
// to multiply, described by MatrixProducts.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/product/product.h"
#include "shoal/model/ops/broadcast.h"

namespace shoal::cpu {

// Addend: the terms that Gemm, MatMul and their fused forms add to a product, namely beta * C,
// which broadcasts to [m, n], and a residual. They enter the product's epilogue directly if
// possible; otherwise they are summed up in scratch first.
class Addend {
 public:
  // C is input 2 and broadcasts to the last two axes of the output; the residual is input 3. `spec`
  // is not kept.
  Addend(const KernelSpec& spec, float beta);

  int64_t scratch_floats() const { return stretched_floats_; }

  // Sums up in `scratch` the terms that the epilogue cannot take. REQUIRES: called once per run,
  // before add_to().
  void prepare(const KernelArgs& args, float* scratch) const;

  // Sets the terms of a product whose first element is element `at` of the output.
  void add_to(Product& product, const KernelArgs& args, int64_t at, const float* scratch) const;

 private:
  enum class Form : uint8_t { kNone, kRow, kWhole, kStretched };

  float beta_;
  bool residual_;
  Form c_ = Form::kNone;
  ops::Strides strides_;
  int64_t stretched_floats_ = 0;
};

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
  Epilogue activation;
};

double macs_of(const MatrixProducts& products);

// Base of the kernels: everything but the product itself.
class MatrixKernel : public Kernel {
 public:
  explicit MatrixKernel(MatrixProducts products) : products_(std::move(products)) {}
  size_t scratch_bytes() const override {
    return static_cast<size_t>(products_.addend.scratch_floats()) * sizeof(float);
  }

 protected:
  // The product of one pair, but for its factors.
  Product describe(const Pair& pair, const KernelArgs& args) const;
  // The epilogue for the elements [begin, end) of y, where either factor is a vector: scale, bias,
  // addend and activation.
  void finish(const Product& product, int64_t begin, int64_t end) const;

  const float* a_of(const Pair& pair, const KernelArgs& args) const {
    return args.input(0) + pair.a * products_.m * products_.k;
  }
  const float* b_of(const Pair& pair, const KernelArgs& args) const {
    return args.input(1) + pair.b * products_.k * products_.n;
  }

  const MatrixProducts products_;
};

// Epilogue of a fused node; none for other nodes.
Epilogue activation_of(const KernelSpec& spec);

// One row on the left by a constant right factor, without its zeros. Null otherwise. Competes only
// if so few elements are not zero that it may be faster.
std::unique_ptr<Kernel> make_sparse_kernel(const KernelSpec& spec, MatrixProducts products);
std::unique_ptr<Kernel> make_block_sparse_kernel(const KernelSpec& spec, MatrixProducts products);
double sparse_cost(const KernelSpec& spec, const MatrixProducts& products);
double block_sparse_cost(const KernelSpec& spec, const MatrixProducts& products);

// One row on the left or one column on the right. Every element of the other factor is used once
// and read in place. Null for other sizes.
std::unique_ptr<Kernel> make_vector_kernel(const KernelSpec& spec, MatrixProducts products);
double vector_cost(const KernelSpec& spec, const MatrixProducts& products);

// Any sizes. A constant b is packed. Competes only where no factor is a vector; the kernels above
// are better for those.
std::unique_ptr<Kernel> make_product_kernel(const KernelSpec& spec, MatrixProducts products);
double product_cost(const KernelSpec& spec, const MatrixProducts& products);

// Translates a node to the products it computes; nullopt if these kernels do not support it.
using ProductsOf = std::optional<MatrixProducts>(const KernelSpec& spec);

template <ProductsOf* kProducts, auto kMake>
std::unique_ptr<Kernel> make_matrix_kernel(const KernelSpec& spec) {
  std::optional<MatrixProducts> products = kProducts(spec);
  return products ? kMake(spec, *std::move(products)) : nullptr;
}

template <ProductsOf* kProducts, auto kCost>
double matrix_cost(const KernelSpec& spec) {
  const std::optional<MatrixProducts> products = kProducts(spec);
  return products ? kCost(spec, *products) : std::numeric_limits<double>::infinity();
}

// All kernels above, for each of the operators.
template <ProductsOf* kProducts>
std::vector<Provider> product_kernels(std::initializer_list<const Operator*> operators) {
  std::vector<Provider> all;
  for (const Operator* op : operators) {
    all.push_back({op, "block_sparse", make_matrix_kernel<kProducts, make_block_sparse_kernel>,
                   matrix_cost<kProducts, block_sparse_cost>});
    all.push_back({op, "sparse", make_matrix_kernel<kProducts, make_sparse_kernel>,
                   matrix_cost<kProducts, sparse_cost>});
    all.push_back({op, "gemv", make_matrix_kernel<kProducts, make_vector_kernel>,
                   matrix_cost<kProducts, vector_cost>});
    all.push_back({op, "gemm", make_matrix_kernel<kProducts, make_product_kernel>,
                   matrix_cost<kProducts, product_cost>});
  }
  return all;
}

}  // namespace shoal::cpu
