// Gemm, MatMul and their fused forms by oneDNN: one product with constants on the right.
#include <algorithm>
#include <limits>
#include <optional>

#include "shoal/engine/cpu/product/matrix_kernels.h"
#include "shoal/engine/cpu/product/onednn.h"

namespace shoal::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Descriptor = dnnl::matmul::primitive_desc;
constexpr auto kF32 = dnnl::memory::data_type::f32;

Descriptor describe(const MatrixProducts& products) {
  const int64_t m = products.m, n = products.n, k = products.k;
  const Desc a(Dims{m, k}, kF32, Dims{products.a.row_stride, products.a.column_stride});
  // `any` lets the primitive choose its packing; the weights are reordered to it once.
  const Desc b(Dims{k, n}, kF32, dnnl::memory::format_tag::any);
  const Desc y(Dims{m, n}, kF32, dnnl::memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_output_scales(0, {products.scale});
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {dnnl::matmul::desc(a, b, y), attributes, onednn_engine()};
}

class OneDnnProductKernel : public MatrixKernel {
 public:
  OneDnnProductKernel(const KernelSpec& spec, MatrixProducts products, const Descriptor& descriptor)
      : MatrixKernel(std::move(products)),
        descriptor_(descriptor),
        primitive_(descriptor),
        weights_(pack(*spec.constant(1))) {}

  void run(const KernelArgs& args) const override {
    const OneOpenMpThread one;
    products_.addend.prepare(args, reinterpret_cast<float*>(args.scratch));
    const Product product = MatrixKernel::describe(products_.pairs[0], args);
    dnnl::stream stream(onednn_engine());
    primitive_.execute(
        stream, {{DNNL_ARG_SRC, onednn_memory(descriptor_.src_desc(), args.input(0))},
                 {DNNL_ARG_WEIGHTS, onednn_memory(descriptor_.weights_desc(), weights_.data())},
                 {DNNL_ARG_SCRATCHPAD,
                  onednn_memory(descriptor_.scratchpad_desc(), args.scratch + own_scratch())},
                 {DNNL_ARG_DST, onednn_memory(descriptor_.dst_desc(), product.y)}});
    stream.wait();
    for (int64_t row = 0; row < products_.m; ++row) finish_row(product, row);
  }

  size_t scratch_bytes() const override {
    return own_scratch() + descriptor_.scratchpad_desc().get_size();
  }

 private:
  size_t own_scratch() const {
    constexpr size_t kLine = 64;
    return (MatrixKernel::scratch_bytes() + kLine - 1) / kLine * kLine;
  }

  AlignedFloats pack(const Tensor& b) const {
    const Desc plain(Dims{products_.k, products_.n}, kF32,
                     Dims{products_.b.row_stride, products_.b.column_stride});
    AlignedFloats packed = reordered(plain, b.data<float>().data(), descriptor_.weights_desc());
    b.release_pages();
    return packed;
  }

  // The epilogue. Addends have several forms, so that one pass of our own over the row, which is
  // still in the cache, is simpler than a post-op for each.
  void finish_row(const Product& product, int64_t row) const {
    float* y = product.y + row * product.y_stride;
    const float* addend =
        product.addend != nullptr ? product.addend + row * product.y_stride : nullptr;
    const Epilogue& activation = product.activation;
    for (int64_t j = 0; j < product.n; ++j) {
      float sum = y[j];
      if (product.column_bias != nullptr) sum += product.column_bias[j];
      if (addend != nullptr) sum += addend[j];
      y[j] = std::min(std::max(sum, activation.low), activation.high);
    }
    if (activation.pass.loop != nullptr) activation.pass(y, y, product.n);
  }

  const Descriptor descriptor_;
  const dnnl::matmul primitive_;
  const AlignedFloats weights_;
};

std::optional<Descriptor> descriptor_of(const KernelSpec& spec, const MatrixProducts& products) {
  const bool fits = spec.pool.threads() == 1 && spec.constant(1) != nullptr &&
                    products.pairs.size() == 1 && products.m > 0 && products.n > 0 &&
                    products.k > 0;
  if (!fits) return std::nullopt;
  return if_possible([&] { return describe(products); });
}

}  // namespace

std::unique_ptr<Kernel> make_onednn_kernel(const KernelSpec& spec, MatrixProducts products) {
  const OneOpenMpThread one;
  const auto descriptor = descriptor_of(spec, products);
  if (!descriptor) return nullptr;
  return std::make_unique<OneDnnProductKernel>(spec, std::move(products), *descriptor);
}

// The same estimate as for our own kernel, so that the two are always measured.
double onednn_cost(const KernelSpec& spec, const MatrixProducts& products) {
  return descriptor_of(spec, products) ? product_cost(spec, products)
                                       : std::numeric_limits<double>::infinity();
}

}  // namespace shoal::cpu
