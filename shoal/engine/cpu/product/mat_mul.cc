// MatMul and FusedMatMul: stacks of products. A single right factor, as weights are, meets all rows
// of the left stack in one product of batch * m rows.
#include "shoal/engine/cpu/product/matrix_kernels.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/product/matrix_product.h"

namespace shoal::cpu {
namespace {

std::optional<MatrixProducts> products_of(const KernelSpec& spec) {
  // The product with a vector has no column axis that a bias could lie along.
  const bool bias_along_columns = !spec.given(2) || spec.shape(1).rank() > 1;
  if (!spec.all_of_type(DType::kF32) || !bias_along_columns) return std::nullopt;
  const ops::MatMulSizes sizes = ops::matmul_sizes(spec.shape(0), spec.shape(1));
  const Shape &a = sizes.a_shape, &b = sizes.b_shape;
  int64_t m = sizes.m;
  std::vector<Pair> pairs;
  if (b.count(0, b.rank() - 2) == 1) {
    m = a.count(0, a.rank() - 1);
    pairs.push_back({0, 0, 0});
  } else {
    sizes.for_each_matrix([&](int64_t i, int64_t j, int64_t y) { pairs.push_back({i, j, y}); });
  }
  return MatrixProducts{m,
                        sizes.n,
                        sizes.k,
                        std::move(pairs),
                        {nullptr, sizes.k, 1},
                        {nullptr, sizes.n, 1},
                        1,
                        Addend(spec, 1),
                        activation_of(spec)};
}

}  // namespace

std::vector<Provider> mat_mul_kernels() {
  return product_kernels<products_of>({&ops::mat_mul, &ops::fused_mat_mul});
}

}  // namespace shoal::cpu
