// MatMul: products of matrices, as numpy.matmul; matrix_product.h has the rules. Integers wrap. The
// gradient is in gradient_product.cc.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/product/matrix_product.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using MatMulTypes = Types<float, double, Half, BFloat16, int32_t, uint32_t, int64_t, uint64_t>;

Result<std::vector<TensorType>> infer_mat_mul(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<MatMulTypes>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_ASSIGN(MatMulSizes sizes, require_matmul(inputs[0].type.shape, inputs[1].type.shape));
  return std::vector{TensorType{inputs[0].type.dtype, sizes.output}};
}

// y[m, n] = a[m, k] b[k, n], one row of y at a time, so that the inner loop walks a row of b.
template <class T, class Sum>
void multiply(const T* a, const T* b, T* y, const MatMulSizes& sizes, std::vector<Sum>& row) {
  for (int64_t i = 0; i < sizes.m; ++i) {
    std::ranges::fill(row, Sum{0});
    for (int64_t p = 0; p < sizes.k; ++p) {
      const auto factor = static_cast<Sum>(a[i * sizes.k + p]);
      const T* line = b + p * sizes.n;
      for (size_t j = 0; j < row.size(); ++j) row[j] += factor * static_cast<Sum>(line[j]);
    }
    std::ranges::transform(row, y + i * sizes.n, [](Sum sum) { return static_cast<T>(sum); });
  }
}

void reference_mat_mul(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const MatMulSizes sizes = matmul_sizes(inputs[0].shape(), inputs[1].shape());
  visit<MatMulTypes>(inputs[0].dtype(), [&]<class T>() {
    std::vector<Modular<Compute<T>>> row(static_cast<size_t>(sizes.n));
    sizes.for_each_matrix([&](int64_t a, int64_t b, int64_t y) {
      multiply(inputs[0].data<T>().data() + a * sizes.m * sizes.k,
               inputs[1].data<T>().data() + b * sizes.k * sizes.n,
               outputs[0].data<T>().data() + y * sizes.m * sizes.n, sizes, row);
    });
  });
}

std::optional<Tile> split_mat_mul(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const auto [a, b] = split_matmul(inputs[0].type.shape, inputs[1].type.shape, output);
  return Tile{{a, b}, output, node.attributes, {}};
}

int64_t macs_of(const Node&, std::span<const Operand> inputs, std::span<const TensorType>) {
  return count_macs(matmul_sizes(inputs[0].type.shape, inputs[1].type.shape));
}

}  // namespace

SHOAL_RECORD(mat_mul) = {.name = "MatMul",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .infer = infer_mat_mul,
                         .reference = reference_mat_mul,
                         .split = split_mat_mul,
                         .linear = true,
                         .macs = macs_of,
                         .gradient = mat_mul_gradient};

}  // namespace shoal::ops
