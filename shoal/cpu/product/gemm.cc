// Gemm and FusedGemm: one product, either factor transposed or not.
#include <limits>

#include "shoal/cpu/product/matrix_kernels.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

MatrixProducts products_of(const KernelSpec& site) {
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

template <std::unique_ptr<Kernel> (*kMake)(const KernelSpec&, MatrixProducts)>
std::unique_ptr<Kernel> make(const KernelSpec& site) {
  return site.all_of_type(DType::kF32) ? kMake(site, products_of(site)) : nullptr;
}

template <double (*kCost)(const KernelSpec&, const MatrixProducts&)>
double cost(const KernelSpec& site) {
  return site.all_of_type(DType::kF32) ? kCost(site, products_of(site))
                                       : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<Provider> gemm_kernels() {
  std::vector<Provider> all;
  for (const Operator* op : {&ops::gemm, &ops::fused_gemm}) {
    all.push_back({op, "block_sparse", make<make_block_sparse_kernel>});
    all.push_back({op, "sparse", make<make_sparse_kernel>});
    all.push_back({op, "gemv", make<make_vector_kernel>});
    all.push_back({op, "gemm", make<make_product_kernel>, cost<product_cost>});
#ifdef SHOAL_ONEDNN
    all.push_back({op, "onednn", make<make_onednn_kernel>, cost<onednn_cost>});
#endif
  }
  return all;
}

}  // namespace shoal::cpu
