// Gradients of pools in the blocked layout, which are pools over three axes after lowering
// (blocked_pool.cc). Threads share planes, because windows overlap in dx.
#include <algorithm>
#include <vector>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/reduce/rows.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

class SpreadKernel : public Kernel {
 public:
  explicit SpreadKernel(const KernelSpec& spec)
      : window_(ops::window_of(spec.node, spec.outputs[0].shape)),
        planes_(spec.outputs[0].shape.count(0, 2)),
        block_(spec.outputs[0].shape[4]) {}

  void run(const KernelArgs& args) const override {
    constexpr int64_t kElements = 4096;  // worth waking a thread for
    const int64_t in = rows().input * columns().input * block_;
    const int64_t out = rows().output * columns().output * block_;
    const float* dy = args.input(args.inputs.size() - 1);
    args.pool.parallel_ranges(planes_, kElements / in + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Spread spread{&rows(), &columns(), dy + i * out, args.output(0) + i * in};
        std::fill_n(spread.dx, in, 0.0f);
        run_plane(spread, args.input(0) + i * in);
      }
    });
  }

 protected:
  const ops::WindowAxis& rows() const { return window_.axes[0]; }
  const ops::WindowAxis& columns() const { return window_.axes[1]; }

 private:
  // x is the input of MaxPool; AveragePool does not look at it.
  virtual void run_plane(const Spread& spread, const float* x) const = 0;

  const ops::Window window_;
  const int64_t planes_, block_;
};

class SpreadToLargestKernel : public SpreadKernel {
 public:
  using SpreadKernel::SpreadKernel;

 private:
  void run_plane(const Spread& spread, const float* x) const override {
    spread_to_largest(spread, x);
  }
};

class SpreadEvenlyKernel : public SpreadKernel {
 public:
  explicit SpreadEvenlyKernel(const KernelSpec& spec) : SpreadKernel(spec) {
    const bool with_padding = spec.node.integer("count_include_pad", 0) != 0;
    for (int64_t h = 0; h < rows().output; ++h) {
      for (int64_t w = 0; w < columns().output; ++w) {
        const float count = taps(rows(), h, with_padding) * taps(columns(), w, with_padding);
        shares_.push_back(count == 0 ? 0 : 1 / count);
      }
    }
  }

 private:
  static float taps(const ops::WindowAxis& axis, int64_t o, bool with_padding) {
    return static_cast<float>(with_padding ? axis.padded_taps(o) : axis.taps(o).count());
  }

  void run_plane(const Spread& spread, const float*) const override {
    spread_evenly(spread, shares_.data());
  }

  std::vector<float> shares_;  // of the taps, by pixel of the output
};

bool is_blocked(const KernelSpec& spec) {
  const Shape& x = spec.outputs[0].shape;
  if (!spec.all_of_type(DType::kF32) || x.rank() != 5 || x[4] != block_size()) return false;
  const ops::WindowAxis lanes = ops::window_of(spec.node, x).axes[2];
  return lanes.kernel == 1 && lanes.stride == 1 && lanes.pad_begin == 0 && lanes.pad_end == 0;
}

template <class K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return is_blocked(spec) && spec.outputs[0].shape.count() > 0 ? std::make_unique<K>(spec)
                                                               : nullptr;
}

}  // namespace

std::vector<Provider> blocked_pool_backward_kernels() {
  return {{&ops::average_pool_backward, "blocked", make<SpreadEvenlyKernel>},
          {&ops::max_pool_backward, "blocked", make<SpreadToLargestKernel>}};
}

}  // namespace shoal::cpu
