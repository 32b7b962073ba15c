// ReduceSum and ReduceMean where the reduced axes are neighbours: [outer, n, inner] to [outer,
// inner]. Lines along the last axis are summed by sum_of(); otherwise strips of kStrip columns are
// accumulated in double, row by row, so that memory is read in order.
#include "shoal/model/ops/reduce/reduce.h"

#include <algorithm>
#include <array>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/reduce/rows.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr int64_t kElements = 4096;  // worth waking a thread for

struct Lines {
  int64_t outer = 1, n = 1, inner = 1;
};

// Sizes of the reduction; nullopt if an axis that is kept lies between reduced ones. Axes of size 1
// are ignored.
std::optional<Lines> lines_of(const Shape& shape, const Shape& kept) {
  Lines lines;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    if (kept[d] != 1) {
      (lines.n == 1 ? lines.outer : lines.inner) *= shape[d];
    } else if (lines.inner == 1) {
      lines.n *= shape[d];
    } else {
      return std::nullopt;
    }
  }
  return lines;
}

class ReduceKernel : public Kernel {
 public:
  ReduceKernel(const Lines& lines, double divisor) : lines_(lines), divisor_(divisor) {}

  void run(const KernelArgs& args) const override {
    const auto [outer, n, inner] = lines_;
    const int64_t strips = ceil_div(inner, kStrip), grain = kElements / (n * kStrip) + 1;
    args.pool.parallel_ranges(outer * strips, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i / strips, column = i % strips * kStrip;
        reduce(args.input(0) + o * lines_.n * lines_.inner + column,
               std::min(kStrip, lines_.inner - column), args.output(0) + o * lines_.inner + column);
      }
    });
  }

 private:
  static constexpr int64_t kStrip = 64;  // columns at a time: sums stay in the first-level cache

  void reduce(const float* x, int64_t columns, float* y) const {
    if (lines_.inner == 1) {
      *y = static_cast<float>(sum_of(x, lines_.n) / divisor_);
      return;
    }
    std::array<double, kStrip> sums{};
    for (int64_t k = 0; k < lines_.n; ++k, x += lines_.inner) {
      for (int64_t i = 0; i < columns; ++i) sums[static_cast<size_t>(i)] += double{x[i]};
    }
    std::transform(sums.begin(), sums.begin() + columns, y,
                   [&](double sum) { return static_cast<float>(sum / divisor_); });
  }

  const Lines lines_;
  const double divisor_;
};

template <bool kMean>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  if (spec.inputs[0].type.dtype != DType::kF32 || spec.shape(0).count() == 0) return nullptr;
  const auto lines = lines_of(spec.shape(0), ops::kept_shape(spec.node, spec.inputs));
  if (!lines) return nullptr;
  return std::make_unique<ReduceKernel>(*lines, kMean ? static_cast<double>(lines->n) : 1);
}

}  // namespace

std::vector<Provider> reduce_kernels() {
  return {{&ops::reduce_mean, "lines", make<true>}, {&ops::reduce_sum, "lines", make<false>}};
}

}  // namespace shoal::cpu
