// Gemm and FusedGemm: y = activation(alpha * a * b + beta * c), either factor transposed or not. A
// transposed factor is the same memory with its strides swapped; packing takes care of the rest.
#include "shoal/engine/cpu/product/matrix_kernels.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

std::optional<MatrixProducts> products_of(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32)) return std::nullopt;
  const bool ta = spec.node.integer("transA", 0) != 0, tb = spec.node.integer("transB", 0) != 0;
  const Shape& a = spec.shape(0);
  const int64_t m = a[ta ? 1 : 0], k = a[ta ? 0 : 1], n = spec.outputs[0].shape[1];
  return MatrixProducts{m,
                        n,
                        k,
                        {{0, 0, 0}},
                        {nullptr, ta ? 1 : k, ta ? m : 1},
                        {nullptr, tb ? 1 : n, tb ? k : 1},
                        spec.node.real("alpha", 1),
                        Addend(spec, spec.node.real("beta", 1)),
                        activation_of(spec)};
}

}  // namespace

std::vector<Provider> gemm_kernels() {
  return product_kernels<products_of>({&ops::gemm, &ops::fused_gemm});
}

}  // namespace shoal::cpu
