// Gemm and MatMul of one row with constants that are mostly zero (sparse.h). Density decides. Where
// the sparse forms and gemv are about as fast they compete (tune.h): which is faster depends on
// caches and on how fast a processor gathers.
#include <algorithm>
#include <limits>

#include "shoal/engine/cpu/product/matrix_kernels.h"
#include "shoal/engine/cpu/product/sparse.h"

namespace shoal::cpu {
namespace {

// Time of a sparse form, in multiply-accumulates that the dense kernel does meanwhile, as
// bench_sparse measures it. Elements are gathered, which takes several times as long as reading
// them in order; a matrix that does not fit into a cache has more to gain, because zeros are not
// read. Each output has its own sum. Blocks take hardly longer than dense weights.
struct Times {
  double element, output;
  double in_block = 1.05;
};
Times times_of(int64_t dense_bytes) {
  constexpr int64_t kCache = 8 << 20;
  return dense_bytes <= kCache ? Times{7.5, 120} : Times{4.5, 120};
}

// A form expected to take this many times as long as the dense one is not worth a trial. Elements
// may surprise, because caches do. Blocks read nearly as much as the dense kernel does where nearly
// all of them are there: they can gain a few percent, and a trial on a busy machine has chosen them
// where they lose up to 30.
constexpr double kHopeless = 2, kHopelessBlocks = 1;

// Time of each form as a share of the dense one; infinite if it should not be tried.
struct Estimate {
  double elements = std::numeric_limits<double>::infinity();
  double blocks = std::numeric_limits<double>::infinity();
};

bool fits(const KernelSpec& spec, const MatrixProducts& products) {
  return spec.constant(1) != nullptr && products.m == 1 && products.pairs.size() == 1 &&
         products.k <= std::numeric_limits<int32_t>::max();
}

Estimate estimate(const KernelSpec& spec, const MatrixProducts& products) {
  constexpr int64_t kSmallest = 1 << 14;  // smaller products take microseconds anyway
  const int64_t size = products.k * products.n;
  if (!fits(spec, products) || size < kSmallest) return {};
  const Tensor* b = spec.constant(1);
  const Times times = times_of(size * static_cast<int64_t>(sizeof(float)));
  const Matrix matrix{b->data<float>().data(), products.b.row_stride, products.b.column_stride};
  const auto shares_of = [&](const Density& density) {
    return Estimate{
        times.element * density.elements + times.output / static_cast<double>(products.k),
        times.in_block * density.blocks};
  };
  // The exact density reads all weights, which a model that is not sparse should not pay for.
  const auto [elements, blocks] = shares_of(sampled_density_of(matrix, products.k, products.n));
  if (elements >= kHopeless && blocks >= kHopelessBlocks) return {};
  const Density density = density_of(matrix, products.k, products.n);
  if (density.elements == 0) return {.blocks = 0};  // nothing to choose from
  Estimate found = shares_of(density);
  if (found.elements >= kHopeless) found.elements = std::numeric_limits<double>::infinity();
  if (found.blocks >= kHopelessBlocks) found.blocks = std::numeric_limits<double>::infinity();
  return found;
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
  if (!fits(spec, products)) return nullptr;
  return std::make_unique<SparseKernel<SparseColumns>>(spec, std::move(products));
}

std::unique_ptr<Kernel> make_block_sparse_kernel(const KernelSpec& spec, MatrixProducts products) {
  if (!fits(spec, products)) return nullptr;
  return std::make_unique<SparseKernel<SparseBlocks>>(spec, std::move(products));
}

double sparse_cost(const KernelSpec& spec, const MatrixProducts& products) {
  return estimate(spec, products).elements * macs_of(products);
}

double block_sparse_cost(const KernelSpec& spec, const MatrixProducts& products) {
  return estimate(spec, products).blocks * macs_of(products);
}

}  // namespace shoal::cpu
