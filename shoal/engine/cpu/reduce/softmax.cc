// Softmax. Long rows go one by one, with elements as lanes. Short rows, and lines along another
// axis than the last, go side by side, with lines as lanes.
#include <algorithm>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/reduce/rows.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

constexpr int64_t kElements = 4096;  // worth waking a thread for

// [rows, n]
class RowsKernel : public Kernel {
 public:
  RowsKernel(int64_t rows, int64_t n) : rows_(rows), n_(n) {}

  void run(const KernelArgs& args) const override {
    constexpr int64_t kShort = 16;  // the widest vector: shorter rows would leave lanes empty
    const float* x = args.input(0);
    float* y = args.output(0);
    args.pool.parallel_ranges(rows_, kElements / n_ + 1, [&](int64_t begin, int64_t end) {
      if (n_ <= kShort)
        return softmax_lines(x + begin * n_, y + begin * n_, end - begin, n_, 1, n_);
      for (int64_t i = begin; i < end; ++i) softmax_row(x + i * n_, y + i * n_, n_);
    });
  }

 private:
  const int64_t rows_, n_;
};

// [outer, n, inner]
class LinesKernel : public Kernel {
 public:
  LinesKernel(int64_t outer, int64_t n, int64_t inner) : outer_(outer), n_(n), inner_(inner) {}

  void run(const KernelArgs& args) const override {
    constexpr int64_t kLines = 64;  // at a time: they are read three times, from a cache
    const int64_t pieces = (inner_ + kLines - 1) / kLines;
    args.pool.parallel_ranges(
        outer_ * pieces, kElements / (n_ * kLines) + 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t line = i % pieces * kLines, at = i / pieces * n_ * inner_ + line;
            softmax_lines(args.input(0) + at, args.output(0) + at, std::min(kLines, inner_ - line),
                          n_, inner_, 1);
          }
        });
  }

 private:
  const int64_t outer_, n_, inner_;
};

std::unique_ptr<Kernel> make_softmax(const KernelSpec& spec) {
  const Shape& shape = spec.shape(0);
  if (!spec.all_of_type(DType::kF32) || shape.count() == 0) return nullptr;
  const size_t axis = ops::axis_in(spec.node.integer("axis", -1), shape.rank());
  const int64_t outer = shape.count(0, axis), inner = shape.count(axis + 1, shape.rank());
  if (inner == 1) return std::make_unique<RowsKernel>(outer, shape[axis]);
  return std::make_unique<LinesKernel>(outer, shape[axis], inner);
}

}  // namespace

std::vector<Provider> softmax_kernels() { return {{&ops::softmax, "vector", make_softmax}}; }

}  // namespace shoal::cpu
