// The dense kernels: ProductKernel calls the blocked loop nest of product.h and spreads its blocks
// over threads; VectorKernel (gemv) is for products with a vector, which are limited by reading the
// matrix and gain nothing from packing.
#include "shoal/engine/cpu/product/matrix_kernels.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/product/product.h"
#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// PackedColumns: the right factor of many products, packed once when a kernel is made.

// Threads share panels, not matrices: a single matrix of weights is the usual case. `scale` is
// folded in here, where it costs nothing, and is therefore part of the form.

// `count` matrices of k x n, k * n elements apart, each multiplied by `scale`.
class PackedColumns {
 public:
  PackedColumns(const KernelSpec& spec, const Matrix& first, int64_t count, int64_t k, int64_t n,
                float scale);

  const float* panels(int64_t matrix) const { return packed_.get() + matrix * stride_; }

 private:
  int64_t stride_;
  PackedFloats packed_;
};

PackedColumns::PackedColumns(const KernelSpec& spec, const Matrix& first, int64_t count, int64_t k,
                             int64_t n, float scale)
    : stride_(packed_columns_size(k, n)) {
  const int64_t columns = panel_size().columns, panels = (n + columns - 1) / columns;
  const PackedForm form{
      "columns",
      {count, k, n, columns, first.row_stride, first.column_stride, std::bit_cast<int32_t>(scale)}};
  packed_ = packed_weights(spec, form, count * stride_, [&](float* to) {
    spec.pool.parallel_ranges(count * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t matrix = i / panels, j = i % panels * columns;
        const RightMatrix right(
            {first.data + matrix * k * n, first.row_stride, first.column_stride}, scale);
        right.pack(0, k, j, std::min(j + columns, n), to + matrix * stride_ + j * k);
      }
    });
  });
}

}  // namespace

// A row that all rows of the product share becomes its column bias and costs no memory traffic. A C
// of the shape of y becomes its addend. Other forms (a column, a scalar, beta != 1, or C and a
// residual at once) are expanded to [m, n] in scratch, which costs one pass over y.

Addend::Addend(const KernelSpec& spec, float beta) : beta_(beta), residual_(spec.given(3)) {
  if (!spec.given(2) || beta_ == 0) return;
  const Shape& c = spec.shape(2);
  const Shape& y = spec.outputs[0].shape;
  const int64_t n = y[y.rank() - 1];
  strides_ = ops::broadcast_strides(c, y);
  // [n], [1, n] and, for n = 1, any single element. A column [n, 1] has n elements too, but differs
  // from row to row.
  const bool same_for_all_rows =
      c.count() == n && (n == 1 || c.rank() <= 1 || c[c.rank() - 1] == n);
  if (beta_ == 1 && same_for_all_rows) {
    c_ = Form::kRow;
  } else if (beta_ == 1 && c == y && !residual_) {
    c_ = Form::kWhole;
  } else {
    c_ = Form::kStretched;
    stretched_floats_ = (y.count() + 15) / 16 * 16;  // whole cache lines: panels follow
  }
}

void Addend::prepare(const KernelArgs& args, float* scratch) const {
  if (c_ != Form::kStretched) return;
  const float* c = args.input(2);
  const float* residual = residual_ ? args.input(3) : nullptr;
  // Only Gemm gets here, whose output has two axes: the bias of FusedMatMul is a row by definition.
  const Shape& y = args.outputs[0].shape();
  for (int64_t i = 0; i < y[0]; ++i) {
    for (int64_t j = 0; j < y[1]; ++j) {
      const int64_t at = i * y[1] + j;
      scratch[at] = beta_ * c[i * strides_[0] + j * strides_[1]];
      if (residual != nullptr) scratch[at] += residual[at];
    }
  }
}

void Addend::add_to(Product& product, const KernelArgs& args, int64_t at,
                    const float* scratch) const {
  if (residual_) product.addend = args.input(3) + at;
  if (c_ == Form::kRow) product.column_bias = args.input(2);
  if (c_ == Form::kWhole) product.addend = args.input(2) + at;
  if (c_ == Form::kStretched) product.addend = scratch + at;
}

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
