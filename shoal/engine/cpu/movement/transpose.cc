// Transpose of elements of four bytes. If the last axis stays last, rows are copied. Otherwise the
// axis that was last and the one that becomes last span a matrix, which is transposed for each
// index of the other axes. Both are limited by memory.
#include <algorithm>
#include <cstring>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// The output and the input, in the order of the output's axes.
Walk<2> walk_of(const KernelSpec& spec) {
  const Shape& y = spec.outputs[0].shape;
  const Shape from = ops::strides_of(spec.shape(0));
  std::vector<int64_t> perm = spec.node.integers("perm");
  // Without `perm`, the order of axes is reversed.
  for (size_t d = y.rank(); perm.size() < y.rank();) perm.push_back(static_cast<int64_t>(--d));
  ops::Strides strides = y;
  for (size_t d = 0; d < y.rank(); ++d) strides[d] = from[static_cast<size_t>(perm[d])];
  return make_walk<2>(y, {ops::strides_of(y), strides});
}

const float* data_of(const Tensor& tensor) {
  return reinterpret_cast<const float*>(tensor.bytes().data());
}
float* data_of(Tensor& tensor) { return reinterpret_cast<float*>(tensor.bytes().data()); }

class RowsKernel : public Kernel {
 public:
  explicit RowsKernel(const Walk<2>& walk) : walk_(walk) {}

  void run(const KernelArgs& args) const override {
    const float* x = data_of(args.inputs[0]);
    float* y = data_of(args.outputs[0]);
    for_each_run(walk_, args.pool, [&](const std::array<int64_t, 2>& at, int64_t n) {
      std::memcpy(y + at[0], x + at[1], static_cast<size_t>(n) * sizeof(float));
    });
  }

 private:
  const Walk<2> walk_;
};

class MatrixKernel : public Kernel {
 public:
  explicit MatrixKernel(const Walk<2>& walk) {
    const size_t last = walk.shape.rank() - 1;
    rows_ = walk.shape[last];
    row_step_ = walk.strides[1][last];
    for (size_t d = 0; d < last; ++d) {
      if (walk.strides[1][d] == 1) {  // the last axis of the input
        columns_ = walk.shape[d];
        column_step_ = walk.strides[0][d];
        continue;
      }
      others_.shape.push_back(walk.shape[d]);
      for (size_t i = 0; i < 2; ++i) others_.strides[i].push_back(walk.strides[i][d]);
    }
    // offsets() leaves the last axis to the caller, so a dummy axis takes that place.
    others_.shape.push_back(1);
    for (size_t i = 0; i < 2; ++i) others_.strides[i].push_back(0);
  }

  void run(const KernelArgs& args) const override {
    constexpr int64_t kColumns = 64;     // of the input, at a time
    constexpr int64_t kElements = 8192;  // worth waking a thread for
    const float* x = data_of(args.inputs[0]);
    float* y = data_of(args.outputs[0]);
    const int64_t pieces = (columns_ + kColumns - 1) / kColumns;
    args.pool.parallel_ranges(others_.runs() * pieces, kElements / (kColumns * rows_) + 1,
                              [&](int64_t begin, int64_t end) {
                                for (int64_t i = begin; i < end; ++i) {
                                  const auto at = others_.offsets(i / pieces);
                                  const int64_t column = i % pieces * kColumns;
                                  transpose_matrix(x + at[1] + column, row_step_, rows_,
                                                   std::min(kColumns, columns_ - column),
                                                   y + at[0] + column * column_step_, column_step_);
                                }
                              });
  }

 private:
  int64_t rows_ = 0, columns_ = 0;          // of the matrix in the input
  int64_t row_step_ = 0, column_step_ = 0;  // in the input, and in the output
  Walk<2> others_;
};

std::unique_ptr<Kernel> make_transpose(const KernelSpec& spec) {
  const TensorType& y = spec.outputs[0];
  if (size_of(y.dtype) != sizeof(float) || y.shape.count() == 0) return nullptr;
  const Walk<2> walk = walk_of(spec);
  if (walk.steps()[1] == 1) return std::make_unique<RowsKernel>(walk);
  return std::make_unique<MatrixKernel>(walk);
}

}  // namespace

std::vector<Provider> transpose_kernels() { return {{&ops::transpose, "blocks", make_transpose}}; }

}  // namespace shoal::cpu
