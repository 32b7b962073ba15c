// A row that all rows of the product share becomes its column bias and costs no memory traffic. A C
// of the shape of y becomes its addend. Other forms (a column, a scalar, beta != 1, or C and a
// residual at once) are expanded to [m, n] in scratch, which costs one pass over y.
#include "shoal/engine/cpu/product/addend.h"

namespace shoal::cpu {

Addend::Addend(const KernelSpec& spec, float beta) : beta_(beta), residual_(spec.given(3)) {
  if (!spec.given(2) || beta_ == 0) return;
  const Shape& c = spec.shape(2);
  const Shape& y = spec.outputs[0].shape;
  const int64_t n = y[y.rank() - 1];
  strides_ = ops::broadcast_strides(c, y);
  // [n], [1, n] and, for n = 1, any single element. A column [n, 1] has n elements too, but differs
  // from row to row.
  const bool same_for_all_rows =
      c.count() == n && (n == 1 || c.rank() <= 1 || c[c.rank() - 1] == n);
  if (beta_ == 1 && same_for_all_rows) {
    c_ = Form::kRow;
  } else if (beta_ == 1 && c == y && !residual_) {
    c_ = Form::kWhole;
  } else {
    c_ = Form::kStretched;
    stretched_floats_ = (y.count() + 15) / 16 * 16;  // whole cache lines: panels follow
  }
}

void Addend::prepare(const KernelArgs& args, float* scratch) const {
  if (c_ != Form::kStretched) return;
  const float* c = args.input(2);
  const float* residual = residual_ ? args.input(3) : nullptr;
  // Only Gemm gets here, whose output has two axes: the bias of FusedMatMul is a row by definition.
  const Shape& y = args.outputs[0].shape();
  for (int64_t i = 0; i < y[0]; ++i) {
    for (int64_t j = 0; j < y[1]; ++j) {
      const int64_t at = i * y[1] + j;
      scratch[at] = beta_ * c[i * strides_[0] + j * strides_[1]];
      if (residual != nullptr) scratch[at] += residual[at];
    }
  }
}

void Addend::add_to(Product& product, const KernelArgs& args, int64_t at,
                    const float* scratch) const {
  if (residual_) product.addend = args.input(3) + at;
  if (c_ == Form::kRow) product.column_bias = args.input(2);
  if (c_ == Form::kWhole) product.addend = args.input(2) + at;
  if (c_ == Form::kStretched) product.addend = scratch + at;
}

}  // namespace shoal::cpu
