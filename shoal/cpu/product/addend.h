// What Gemm, MatMul and their fused forms add to a product: beta * C, which stretches to [m, n],
// and a residual. They go in as they are where the product takes them so, and are summed up first
// elsewhere.
#pragma once

#include "shoal/cpu/kernel.h"
#include "shoal/cpu/product/product.h"
#include "shoal/ops/broadcast.h"

namespace shoal::cpu {

class Addend {
 public:
  // C is input 2, stretched to the last two axes of the output; the residual is input 3.
  Addend(const KernelSpec& site, float beta);

  int64_t scratch_floats() const { return stretched_floats_; }

  // Once per run, before the first add_to: sums up in `scratch` what has to be.
  void prepare(const KernelArgs& call, float* scratch) const;

  // `at` elements of the output come before this product's.
  void add_to(Product& product, const KernelArgs& call, int64_t at, const float* scratch) const;

 private:
  enum class Form : uint8_t { kNone, kRow, kWhole, kStretched };

  float beta_;
  bool residual_;
  Form c_ = Form::kNone;
  ops::Strides strides_;
  int64_t stretched_floats_ = 0;
};

}  // namespace shoal::cpu
