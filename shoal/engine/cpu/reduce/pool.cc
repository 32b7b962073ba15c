// MaxPool and AveragePool in the plain layout, a row of the output at a time: every tap of the
// window combines one row of the input with it, so that the innermost loop runs along a row. The
// row of the output stays in the first-level cache for all taps. Global pools go a plane at a time.
#include <algorithm>
#include <array>
#include <limits>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/reduce/rows.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/window.h"

namespace shoal::cpu {
namespace {

using ops::Range;
using ops::Window;
using ops::WindowAxis;

constexpr int64_t kElements = 4096;  // worth waking a thread for

// A NaN wins, as in the reference.
struct Max {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static float combine(float sum, float x) { return x > sum || x != x ? x : sum; }
};

struct Sum {
  static constexpr float kStart = 0;
  static float combine(float sum, float x) { return sum + x; }
};

template <class F>
void combine_row(const float* x, int64_t stride, float* y, int64_t n) {
  if (stride == 1) {  // a separate loop, which compilers vectorise
    for (int64_t o = 0; o < n; ++o) y[o] = F::combine(y[o], x[o]);
  } else {
    for (int64_t o = 0; o < n; ++o) y[o] = F::combine(y[o], x[o * stride]);
  }
}

template <class F>
class PoolKernel : public Kernel {
 public:
  explicit PoolKernel(const KernelSpec& spec)
      : window_(ops::window_of(spec.node, spec.shape(0))),
        planes_(spec.shape(0)[0] * spec.shape(0)[1]) {
    for (int64_t tap = 0; tap < window_.axes[2].kernel; ++tap) {
      columns_.push_back(window_.axes[2].outputs(tap));
    }
  }

  void run(const KernelArgs& args) const override {
    const auto& [depths, rows, columns] = window_.axes;
    const int64_t in = depths.input * rows.input * columns.input;
    const int64_t out = depths.output * rows.output * columns.output;
    const int64_t work = std::max<int64_t>(out * depths.kernel * rows.kernel * columns.kernel, 1);
    args.pool.parallel_ranges(planes_, kElements / work + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        pool_plane(args.input(0) + i * in, args.output(0) + i * out);
      }
    });
  }

 protected:
  // Called for the row of the output at (d, h) when all its taps are in.
  virtual void finish_row(int64_t, int64_t, float*) const {}

  const Window window_;

 private:
  void pool_plane(const float* x, float* y) const {
    const auto& [depths, rows, columns] = window_.axes;
    for (int64_t d = 0; d < depths.output; ++d) {
      for (int64_t h = 0; h < rows.output; ++h, y += columns.output) {
        std::fill_n(y, columns.output, F::kStart);
        const Range depth_taps = depths.taps(d), row_taps = rows.taps(h);
        for (int64_t kd = depth_taps.begin; kd < depth_taps.end; ++kd) {
          for (int64_t kh = row_taps.begin; kh < row_taps.end; ++kh) {
            const int64_t line = depths.position(d, kd) * rows.input + rows.position(h, kh);
            pool_line(x + line * columns.input, y);
          }
        }
        finish_row(d, h, y);
      }
    }
  }

  void pool_line(const float* x, float* y) const {
    const WindowAxis& axis = window_.axes[2];
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      const Range outputs = columns_[static_cast<size_t>(tap)];
      if (outputs.begin == outputs.end) continue;
      combine_row<F>(x + axis.position(outputs.begin, tap), axis.stride, y + outputs.begin,
                     outputs.count());
    }
  }

  const int64_t planes_;
  std::vector<Range> columns_;  // by tap: the outputs for which it lies in the image
};

class AveragePoolKernel : public PoolKernel<Sum> {
 public:
  explicit AveragePoolKernel(const KernelSpec& spec) : PoolKernel(spec) {
    const bool with_padding = spec.node.integer("count_include_pad", 0) != 0;
    for (size_t d = 0; d < counts_.size(); ++d) {
      const WindowAxis& axis = window_.axes[d];
      for (int64_t o = 0; o < axis.output; ++o) {
        counts_[d].push_back(
            static_cast<double>(with_padding ? axis.padded_taps(o) : axis.taps(o).count()));
      }
    }
  }

 private:
  void finish_row(int64_t d, int64_t h, float* y) const override {
    const double lines = counts_[0][static_cast<size_t>(d)] * counts_[1][static_cast<size_t>(h)];
    for (size_t w = 0; w < counts_[2].size(); ++w) {
      const double count = lines * counts_[2][w];
      y[w] = count == 0 ? 0 : y[w] / static_cast<float>(count);
    }
  }

  std::array<std::vector<double>, Window::kMaxRank> counts_;  // of each axis, by output
};

class GlobalAveragePoolKernel : public Kernel {
 public:
  explicit GlobalAveragePoolKernel(const Shape& x)
      : planes_(x[0] * x[1]), plane_(x.count(2, x.rank())) {}

  void run(const KernelArgs& args) const override {
    args.pool.parallel_ranges(planes_, kElements / plane_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        args.output(0)[i] = static_cast<float>(sum_of(args.input(0) + i * plane_, plane_) /
                                               static_cast<double>(plane_));
      }
    });
  }

 private:
  const int64_t planes_, plane_;
};

std::unique_ptr<Kernel> make_max_pool(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32) || spec.outputs.size() > 1) return nullptr;
  return std::make_unique<PoolKernel<Max>>(spec);
}

std::unique_ptr<Kernel> make_average_pool(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<AveragePoolKernel>(spec);
}

std::unique_ptr<Kernel> make_global_average_pool(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32) || spec.shape(0).count() == 0) return nullptr;
  return std::make_unique<GlobalAveragePoolKernel>(spec.shape(0));
}

}  // namespace

std::vector<Provider> pool_kernels() {
  return {{&ops::average_pool, "rows", make_average_pool},
          {&ops::global_average_pool, "planes", make_global_average_pool},
          {&ops::max_pool, "rows", make_max_pool}};
}

}  // namespace shoal::cpu
