// Gemm and FusedGemm: one product, either factor transposed or not.
#include "shoal/cpu/matrix_kernels.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

MatrixProducts products_of(const Site& site) {
  const bool ta = site.node.integer("transA", 0) != 0, tb = site.node.integer("transB", 0) != 0;
  const Shape& a = site.shape(0);
  const int64_t m = a[ta ? 1 : 0], k = a[ta ? 0 : 1], n = site.outputs[0].shape[1];
  return {m,
          n,
          k,
          {{0, 0, 0}},
          {nullptr, ta ? 1 : k, ta ? m : 1},
          {nullptr, tb ? 1 : n, tb ? k : 1},
          site.node.real("alpha", 1),
          Addend(site, site.node.real("beta", 1)),
          activation_of(site)};
}

std::unique_ptr<Kernel> make_gemv(const Site& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  return make_vector_kernel(site, products_of(site));
}

std::unique_ptr<Kernel> make_gemm(const Site& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  return make_product_kernel(site, products_of(site));
}

}  // namespace

std::vector<Provider> gemm_kernels() {
  return {{&ops::gemm, "gemv", make_gemv},
          {&ops::gemm, "gemm", make_gemm},
          {&ops::fused_gemm, "gemv", make_gemv},
          {&ops::fused_gemm, "gemm", make_gemm}};
}

}  // namespace shoal::cpu
