// The dense kernels: ProductKernel calls the blocked loop nest of product.h and spreads its blocks
// over threads; VectorKernel (gemv) is for products with a vector, which are limited by reading the
// matrix and gain nothing from packing.
#include "shoal/engine/cpu/product/matrix_kernels.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "shoal/engine/cpu/product/dots.h"
#include "shoal/engine/cpu/product/packed_columns.h"
#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// A row times a matrix, or a matrix times a column.
bool has_vector(const MatrixProducts& products) {
  return products.m == 1 || (products.n == 1 && products.a.column_stride == 1);
}

class ProductKernel : public MatrixKernel {
 public:
  ProductKernel(const KernelSpec& spec, MatrixProducts products)
      : MatrixKernel(std::move(products)),
        threads_(spec.pool.threads()),
        blocking_(choose_blocking(products_.m, products_.n, products_.k,
                                  {.right = spec.constant(1) != nullptr},
                                  std::ssize(products_.pairs), threads_)) {
    const Tensor* b = spec.constant(1);
    if (b == nullptr) return;
    // Stacks of right factors that repeat by broadcasting are packed once each, not once per pair.
    const int64_t size = std::max<int64_t>(products_.k * products_.n, 1);
    packed_.emplace(spec, matrix_b(b->data<float>().data()), b->count() / size, products_.k,
                    products_.n, products_.scale);
    // The packed copy replaces the pages of the mapped model file.
    b->release_pages();
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    products_.addend.prepare(args, scratch);
    scratch += products_.addend.scratch_floats();
    const int64_t blocks = blocking_.blocks();
    args.pool.parallel_for(std::ssize(products_.pairs) * blocks, [&](int64_t index, int slot) {
      run_block(args, products_.pairs[static_cast<size_t>(index / blocks)], index % blocks,
                scratch + slot * blocking_.scratch_floats);
    });
  }

  size_t scratch_bytes() const override {
    return MatrixKernel::scratch_bytes() +
           static_cast<size_t>(blocking_.scratch_floats * threads_) * sizeof(float);
  }

 private:
  Matrix matrix_b(const float* data) const {
    return {data, products_.b.row_stride, products_.b.column_stride};
  }

  void run_block(const KernelArgs& args, const Pair& pair, int64_t block, float* scratch) const {
    Product product = describe(pair, args);
    product.left = {a_of(pair, args), products_.a.row_stride, products_.a.column_stride};
    if (packed_) {
      product.packed_right = packed_->panels(pair.b);
      return multiply(product, blocking_, block, scratch);
    }
    const RightMatrix right(matrix_b(b_of(pair, args)), products_.scale);
    product.right = &right;
    multiply(product, blocking_, block, scratch);
  }

  const int threads_;
  const Blocking blocking_;
  std::optional<PackedColumns> packed_;  // if b is constant
};

class VectorKernel : public MatrixKernel {
 public:
  using MatrixKernel::MatrixKernel;

  void run(const KernelArgs& args) const override {
    const int64_t m = products_.m, n = products_.n, k = products_.k;
    products_.addend.prepare(args, reinterpret_cast<float*>(args.scratch));
    // A piece takes a few microseconds to read: more than handing it to another thread costs.
    constexpr int64_t kElements = int64_t{1} << 16;
    const int64_t grain = std::max<int64_t>(kElements / std::max<int64_t>(k, 1), 16);
    for (const Pair& pair : products_.pairs) {
      const Product product = describe(pair, args);
      const float *a = a_of(pair, args), *b = b_of(pair, args);
      args.pool.parallel_ranges(m * n, grain, [&](int64_t begin, int64_t end) {
        // The contiguous axis is n for a plain b, and k for a transposed b or for a matrix times a
        // column.
        if (m == 1 && products_.b.row_stride != 1) {
          add_rows(a, k, b, n, begin, end, product.y);
        } else if (m == 1) {
          dot_rows({a, k, 1, k, b, product.y, n}, begin, end);
        } else {
          dot_rows({b, k, 1, k, a, product.y, m}, begin, end);
        }
        finish(product, begin, end);
      });
    }
  }
};

}  // namespace

Product MatrixKernel::describe(const Pair& pair, const KernelArgs& args) const {
  Product product;
  const int64_t at = pair.y * products_.m * products_.n;
  product.m = products_.m;
  product.n = product.y_stride = products_.n;
  product.k = products_.k;
  product.y = args.output(0) + at;
  product.activation = products_.activation;
  products_.addend.add_to(product, args, at, reinterpret_cast<const float*>(args.scratch));
  return product;
}

void MatrixKernel::finish(const Product& product, int64_t begin, int64_t end) const {
  float* y = product.y;
  const Epilogue& activation = product.activation;
  const float *bias = product.column_bias, *addend = product.addend;
  // The bias runs along a row; all elements of a column add bias[0].
  const int64_t bias_step = product.m == 1 ? 1 : 0;
  if (products_.scale != 1) {
    for (int64_t i = begin; i < end; ++i) y[i] *= products_.scale;
  }
  if (bias != nullptr) {
    for (int64_t i = begin; i < end; ++i) y[i] += bias[i * bias_step];
  }
  if (addend != nullptr) {
    for (int64_t i = begin; i < end; ++i) y[i] += addend[i];
  }
  for (int64_t i = begin; i < end; ++i) {
    y[i] = std::min(std::max(y[i], activation.low), activation.high);
  }
  if (activation.pass.loop != nullptr) activation.pass(y + begin, y + begin, end - begin);
}

Epilogue activation_of(const KernelSpec& spec) {
  const bool fused = spec.node.op == &ops::fused_gemm || spec.node.op == &ops::fused_mat_mul;
  return fused ? Epilogue(ops::activation_of(spec.node)) : Epilogue();
}

double macs_of(const MatrixProducts& products) {
  return static_cast<double>(products.m) * static_cast<double>(products.n) *
         static_cast<double>(products.k) * static_cast<double>(products.pairs.size());
}

std::unique_ptr<Kernel> make_vector_kernel(const KernelSpec&, MatrixProducts products) {
  if (!has_vector(products)) return nullptr;
  return std::make_unique<VectorKernel>(std::move(products));
}

double vector_cost(const KernelSpec&, const MatrixProducts& products) {
  return has_vector(products) ? macs_of(products) : std::numeric_limits<double>::infinity();
}

std::unique_ptr<Kernel> make_product_kernel(const KernelSpec& spec, MatrixProducts products) {
  return std::make_unique<ProductKernel>(spec, std::move(products));
}

double product_cost(const KernelSpec&, const MatrixProducts& products) {
  // Vectors are left to others, which are faster.
  if (products.m <= 1 || products.n <= 1) return std::numeric_limits<double>::infinity();
  return macs_of(products);
}

}  // namespace shoal::cpu
