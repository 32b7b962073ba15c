// BlockedConvWeightsBackward with one input and one output channel per group (depthwise):
//   dw[c, tap] = sum over images and pixels of x[n, c, pixel * stride + tap] * dy[n, c, pixel]
// Lanes are channels. Threads share blocks of channels, so that no two add to the same sum. Each
// tap makes a pass over x and dy, one FMA for two loads.
#include <algorithm>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/layout/blocked.h"

namespace shoal::cpu {
namespace {

class DepthwiseWeightsKernel : public Kernel {
 public:
  explicit DepthwiseWeightsKernel(const KernelSpec& spec)
      : conv_(blocked_convolution_behind(spec.node, spec.shape(0), spec.outputs[0].shape)),
        rows_(conv_.window.axes[1]),
        columns_(conv_.window.axes[2]),
        blocks_(spec.shape(1)[1]),
        block_(spec.shape(1)[4]) {}

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    args.pool.parallel_ranges(blocks_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        float* sums = scratch + b * sums_floats();
        std::fill_n(sums, sums_floats(), 0.0f);
        for (int64_t n = 0; n < conv_.batch; ++n) sum_plane(args, n * blocks_ + b, sums);
        finish(args, b, sums);
      }
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(blocks_ * sums_floats()) * sizeof(float);
  }

 private:
  // Sums of one block: [tap][channel], then the bias.
  int64_t sums_floats() const { return (conv_.taps() + 1) * block_; }

  void sum_plane(const KernelArgs& args, int64_t plane, float* sums) const {
    const float* x = args.input(0) + plane * conv_.input_plane() * block_;
    const float* dy = args.input(1) + plane * conv_.output_plane() * block_;
    if (args.outputs.size() > 1) add_pixels(dy, conv_.output_plane(), sums + conv_.taps() * block_);
    for (int64_t kh = 0; kh < rows_.kernel; ++kh) {
      const ops::Range rows = rows_.outputs(kh);
      for (int64_t kw = 0; kw < columns_.kernel; ++kw, sums += block_) {
        const ops::Range columns = columns_.outputs(kw);
        if (columns.count() == 0) continue;
        for (int64_t row = rows.begin; row < rows.end; ++row) {
          const int64_t from =
              rows_.position(row, kh) * columns_.input + columns_.position(columns.begin, kw);
          add_products(x + from * block_, columns_.stride * block_,
                       dy + (row * columns_.output + columns.begin) * block_, columns.count(),
                       sums);
        }
      }
    }
  }

  void finish(const KernelArgs& args, int64_t b, const float* sums) const {
    const int64_t taps = conv_.taps(), first = b * block_;
    for (int64_t c = first; c < std::min(first + block_, conv_.groups); ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        args.output(0)[c * taps + tap] = sums[tap * block_ + c - first];
      }
      if (args.outputs.size() > 1) args.output(1)[c] = sums[taps * block_ + c - first];
    }
  }

  const ops::Convolution conv_;
  const ops::WindowAxis rows_, columns_;
  const int64_t blocks_, block_;
};

std::unique_ptr<Kernel> make_depthwise(const KernelSpec& spec) {
  const bool fits = spec.all_of_type(DType::kF32) && spec.shape(0).rank() == 5 &&
                    spec.shape(1)[4] == block_size() && spec.node.integer("group", 1) > 1;
  return fits ? std::make_unique<DepthwiseWeightsKernel>(spec) : nullptr;
}

}  // namespace

std::vector<Provider> depthwise_weights_backward_kernels() {
  return {{&blocked_conv_weights_backward, "depthwise", make_depthwise}};
}

}  // namespace shoal::cpu
