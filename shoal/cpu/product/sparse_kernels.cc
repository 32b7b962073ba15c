// Gemm and MatMul of one row with constants that are mostly zero (sparse.h). Density decides: a
// sparse form is made if it should be faster than gemv by the measured break-even densities, and
// the better of the two forms if both are.
#include <algorithm>
#include <limits>

#include "shoal/cpu/product/matrix_kernels.h"
#include "shoal/cpu/product/sparse.h"

namespace shoal::cpu {
namespace {

// Densities below which a sparse form is faster than the dense one, as bench_sparse measures them.
// A matrix that does not fit into a cache has more to gain, because zeros are not read.
struct BreakEven {
  double elements, blocks;
};
BreakEven break_even(int64_t dense_bytes) {
  constexpr int64_t kCache = 8 << 20;
  return dense_bytes <= kCache ? BreakEven{0.06, 0.8} : BreakEven{0.15, 0.8};
}

// Time of each form as a share of the dense one; infinite if none should be tried.
struct Estimate {
  double elements = std::numeric_limits<double>::infinity();
  double blocks = std::numeric_limits<double>::infinity();
};

Estimate estimate(const KernelSpec& spec, const MatrixProducts& products) {
  constexpr int64_t kSmallest = 1 << 14;  // smaller products take microseconds anyway
  const Tensor* b = spec.constant(1);
  const int64_t size = products.k * products.n;
  const bool fits = b != nullptr && products.m == 1 && products.pairs.size() == 1 &&
                    size >= kSmallest && products.k <= std::numeric_limits<int32_t>::max();
  if (!fits) return {};
  const BreakEven limit = break_even(size * static_cast<int64_t>(sizeof(float)));
  const Matrix matrix{b->data<float>().data(), products.b.row_stride, products.b.column_stride};
  const auto worth_it = [&](const Density& density) {
    return density.elements < limit.elements || density.blocks < limit.blocks;
  };
  // The exact density reads all weights, which a model that is not sparse should not pay for.
  if (!worth_it(sampled_density_of(matrix, products.k, products.n))) return {};
  const Density density = density_of(matrix, products.k, products.n);
  return {density.elements / limit.elements, density.blocks / limit.blocks};
}

template <class Form>
class SparseKernel : public MatrixKernel {
 public:
  SparseKernel(const KernelSpec& spec, MatrixProducts products)
      : MatrixKernel(std::move(products)),
        b_({spec.constant(1)->data<float>().data(), products_.b.row_stride,
            products_.b.column_stride},
           products_.k, products_.n) {
    spec.constant(1)->release_pages();
  }

  void run(const KernelArgs& args) const override {
    constexpr int64_t kWidth = SparseBlocks::kWidth, kGroups = 16;  // at least, to a thread
    products_.addend.prepare(args, reinterpret_cast<float*>(args.scratch));
    const Pair& pair = products_.pairs.front();
    const Product product = describe(pair, args);
    const int64_t n = products_.n;
    args.pool.parallel_ranges((n + kWidth - 1) / kWidth, kGroups, [&](int64_t begin, int64_t end) {
      const int64_t j = begin * kWidth, j_end = std::min(end * kWidth, n);
      b_.multiply(a_of(pair, args), j, j_end, product.y);
      finish(product, j, j_end);
    });
  }

 private:
  const Form b_;
};

}  // namespace

std::unique_ptr<Kernel> make_sparse_kernel(const KernelSpec& spec, MatrixProducts products) {
  if (estimate(spec, products).elements >= 1) return nullptr;
  return std::make_unique<SparseKernel<SparseColumns>>(spec, std::move(products));
}

std::unique_ptr<Kernel> make_block_sparse_kernel(const KernelSpec& spec, MatrixProducts products) {
  const auto [elements, blocks] = estimate(spec, products);
  if (blocks >= 1 || blocks > elements) return nullptr;
  return std::make_unique<SparseKernel<SparseBlocks>>(spec, std::move(products));
}

}  // namespace shoal::cpu
