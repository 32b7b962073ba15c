// Gemm and FusedGemm: few rows read the weights where they lie, many go through the packed product.
#include <algorithm>
#include <vector>

#include "shoal/cpu/dots.h"
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/product.h"
#include "shoal/ops/broadcast.h"
#include "shoal/ops/fused_activation.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

// Up to here, reading the weights is what takes the time; beyond, multiplying is, and packing
// them pays.
constexpr int64_t kFewRows = 12;

struct Sizes {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

Sizes sizes_of(const Site& site) {
  const bool ta = site.node.integer("transA", 0) != 0, tb = site.node.integer("transB", 0) != 0;
  const Shape& a = site.shape(0);
  return {a[ta ? 1 : 0], site.outputs[0].shape[1], a[ta ? 0 : 1], ta, tb};
}

// What is added to the product: beta * C, which stretches to [m, n], and the residual of a fused
// node. They go in as they are where the product takes them so, and are summed up first elsewhere.
class Addend {
 public:
  explicit Addend(const Site& site) : beta_(site.node.real("beta", 1)), residual_(site.given(3)) {
    if (!site.given(2) || beta_ == 0) return;
    const Shape& c = site.shape(2);
    const Shape& y = site.outputs[0].shape;
    strides_ = ops::broadcast_strides(c, y);
    if (beta_ == 1 && c.count() == y[1] && (y[1] == 1 || strides_[0] == 0)) {
      c_ = Form::kRow;
    } else if (beta_ == 1 && c == y && !residual_) {
      c_ = Form::kWhole;
    } else {
      c_ = Form::kStretched;
      stretched_floats_ = y.count();
    }
  }

  int64_t scratch_floats() const { return stretched_floats_; }

  void add_to(Product& product, const Call& call) const {
    const float* c = call.input(2);
    product.addend = residual_ ? call.input(3) : nullptr;
    if (c_ == Form::kRow) product.column_bias = c;
    if (c_ == Form::kWhole) product.addend = c;
    if (c_ == Form::kStretched) product.addend = stretch(product, c, call);
  }

 private:
  enum class Form : uint8_t { kNone, kRow, kWhole, kStretched };

  const float* stretch(const Product& product, const float* c, const Call& call) const {
    auto* sum = reinterpret_cast<float*>(call.scratch);
    for (int64_t i = 0; i < product.m; ++i) {
      for (int64_t j = 0; j < product.n; ++j) {
        const int64_t at = i * product.n + j;
        sum[at] = beta_ * c[i * strides_[0] + j * strides_[1]] +
                  (product.addend != nullptr ? product.addend[at] : 0);
      }
    }
    return sum;
  }

  const float beta_;
  const bool residual_;
  Form c_ = Form::kNone;
  ops::Strides strides_;
  int64_t stretched_floats_ = 0;
};

// What both ways share: the product's description, but for the factors.
class GemmKernel : public Kernel {
 public:
  explicit GemmKernel(const Site& site)
      : sizes_(sizes_of(site)),
        addend_(site),
        scale_(site.node.real("alpha", 1)),
        activation_(site.node.op == &ops::fused_gemm ? ops::activation_of(site.node)
                                                     : ops::Activation()) {}

 protected:
  Product describe(const Call& call) const {
    Product product;
    product.m = sizes_.m;
    product.n = product.y_stride = sizes_.n;
    product.k = sizes_.k;
    product.y = call.output(0);
    product.scale = scale_;
    product.activation = activation_;
    addend_.add_to(product, call);
    return product;
  }
  int64_t addend_floats() const { return (addend_.scratch_floats() + 15) / 16 * 16; }

  const Sizes sizes_;

 private:
  const Addend addend_;
  const float scale_;
  const Activation activation_;
};

class FewRowsKernel : public GemmKernel {
 public:
  using GemmKernel::GemmKernel;

  void run(const Call& call) const override {
    const Product product = describe(call);
    const Dots dots{call.input(0), sizes_.k,  sizes_.m, sizes_.k,
                    call.input(1), product.y, sizes_.n};
    // Enough columns at a time that a thread reads runs of some pages.
    const int64_t grain =
        std::max<int64_t>((int64_t{1} << 15) / std::max<int64_t>(sizes_.k, 1), 16);
    call.pool.parallel_ranges(sizes_.n, grain, [&](int64_t begin, int64_t end) {
      if (sizes_.transpose_b) {
        dot_rows(dots, begin, end);
      } else {
        add_rows(dots.x, sizes_.k, dots.w, sizes_.n, begin, end, dots.y);
      }
      finish(product, begin, end);
    });
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(addend_floats()) * sizeof(float);
  }

 private:
  static void finish(const Product& product, int64_t begin, int64_t end) {
    for (int64_t i = 0; i < product.m; ++i) {
      float* y = product.y + i * product.n;
      for (int64_t j = begin; j < end; ++j) {
        float sum = y[j] * product.scale;
        if (product.column_bias != nullptr) sum += product.column_bias[j];
        if (product.addend != nullptr) sum += product.addend[i * product.n + j];
        y[j] = std::min(std::max(sum, product.activation.low), product.activation.high);
      }
      const Function& pass = product.activation.pass;
      if (pass.loop != nullptr) pass(y + begin, y + begin, end - begin);
    }
  }
};

class ManyRowsKernel : public GemmKernel {
 public:
  explicit ManyRowsKernel(const Site& site)
      : GemmKernel(site),
        blocking_(choose_blocking(sizes_.m, sizes_.n, sizes_.k, false, 1, site.pool.threads())),
        threads_(site.pool.threads()) {}

  void run(const Call& call) const override {
    const auto& [m, n, k, ta, tb] = sizes_;
    Product product = describe(call);
    product.left = {call.input(0), ta ? 1 : k, ta ? m : 1};
    const RightMatrix right({call.input(1), tb ? 1 : n, tb ? k : 1});
    product.right = &right;
    float* scratch = reinterpret_cast<float*>(call.scratch) + addend_floats();
    call.pool.parallel_for(blocking_.blocks(), [&](int64_t block, int slot) {
      multiply(product, blocking_, block, scratch + slot * blocking_.scratch_floats);
    });
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(addend_floats() + blocking_.scratch_floats * threads_) *
           sizeof(float);
  }

 private:
  const Blocking blocking_;
  const int threads_;
};

std::unique_ptr<Kernel> make_gemv(const Site& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  const Sizes sizes = sizes_of(site);
  const bool few = sizes.m == 1 || (sizes.m <= kFewRows && sizes.transpose_b && !sizes.transpose_a);
  return few ? std::make_unique<FewRowsKernel>(site) : nullptr;
}

std::unique_ptr<Kernel> make_gemm(const Site& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<ManyRowsKernel>(site);
}

}  // namespace

std::vector<Provider> gemm_kernels() {
  return {{&ops::gemm, "gemv", make_gemv},
          {&ops::gemm, "gemm", make_gemm},
          {&ops::fused_gemm, "gemv", make_gemv},
          {&ops::fused_gemm, "gemm", make_gemm}};
}

}  // namespace shoal::cpu
