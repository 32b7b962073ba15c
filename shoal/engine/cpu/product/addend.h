// Addend: the terms that Gemm, MatMul and their fused forms add to a product, namely beta * C,
// which broadcasts to [m, n], and a residual. They enter the epilogue of the product as they are if
// it takes them so, and are summed up in scratch first otherwise.
#pragma once

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/product/product.h"
#include "shoal/model/ops/broadcast.h"

namespace shoal::cpu {

class Addend {
 public:
  // C is input 2 and broadcasts to the last two axes of the output; the residual is input 3. `spec`
  // is not kept.
  Addend(const KernelSpec& spec, float beta);

  int64_t scratch_floats() const { return stretched_floats_; }

  // Sums up in `scratch` what the product cannot take. REQUIRES: once per run, before add_to().
  void prepare(const KernelArgs& args, float* scratch) const;

  // Sets the terms of a product whose first element is element `at` of the output.
  void add_to(Product& product, const KernelArgs& args, int64_t at, const float* scratch) const;

 private:
  enum class Form : uint8_t { kNone, kRow, kWhole, kStretched };

  float beta_;
  bool residual_;
  Form c_ = Form::kNone;
  ops::Strides strides_;
  int64_t stretched_floats_ = 0;
};

}  // namespace shoal::cpu
