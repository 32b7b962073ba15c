// BlockedConv with one input and one output channel per group (depthwise). Threads share rows of
// blocks of channels; the loop over a row is in blocked_rows.cc. It reads the image once per row of
// taps and is limited by loads.
#include <algorithm>

#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/conv/filters.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"

namespace shoal::cpu {
namespace {

class BlockedDepthwiseKernel : public RectangleKernel {
 public:
  explicit BlockedDepthwiseKernel(const KernelSpec& spec)
      : spec_(spec),
        filters_(spec, {"depthwise", {spec_.in_channels, spec_.conv.taps(), spec_.block}},
                 packed_floats(), spec_.out_blocks, packing()) {}

  void run(const KernelArgs& args) const override {
    const Filters::View filters =
        filters_.view(args, reinterpret_cast<float*>(args.scratch), packing());
    const ops::WindowAxis& rows = spec_.rows();
    constexpr int64_t kElements = 4096;  // worth waking a thread for
    const int64_t line = spec_.columns().output * spec_.conv.taps() * spec_.block;
    const int64_t all = spec_.conv.batch * spec_.out_blocks * rows.output;
    args.pool.parallel_ranges(all, kElements / line + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t plane = i / rows.output, first = i % rows.output;
        const int64_t last = std::min(first + end - i, rows.output);
        run_rows(args, filters, plane, {{first, last}, {0, spec_.columns().output}});
        i += last - first;
      }
    });
  }

  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    const Filters::View filters =
        filters_.view(args, reinterpret_cast<float*>(args.scratch), packing());
    args.pool.parallel_for(spec_.conv.batch * spec_.out_blocks, [&](int64_t plane, int) {
      for (const Rectangle& one : where) run_rows(args, filters, plane, one);
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(filters_.scratch_floats()) * sizeof(float);
  }

 private:
  int64_t packed_floats() const { return spec_.out_blocks * spec_.conv.taps() * spec_.block; }

  // Packed filters are [block][tap][channel], zeros for channels that fill up the last block.
  Filters::Pack packing() const {
    return [this](const float* w, ThreadPool&, float* packed) {
      const int64_t taps = spec_.conv.taps(), block = spec_.block;
      std::fill_n(packed, packed_floats(), 0.0f);
      for (int64_t c = 0; c < spec_.in_channels; ++c) {
        float* to = packed + c / block * taps * block + c % block;
        for (int64_t tap = 0; tap < taps; ++tap) to[tap * block] = w[c * taps + tap];
      }
    };
  }

  void run_rows(const KernelArgs& args, const Filters::View& filters, int64_t plane,
                const Rectangle& where) const {
    const int64_t block = spec_.block, b = plane % spec_.out_blocks;
    const int64_t to = plane * spec_.conv.output_plane() * block;
    const BlockedRows rows{&spec_.rows(), &spec_.columns(),
                           args.input(0) + plane * spec_.conv.input_plane() * block,
                           args.output(0) + to, where};
    const BlockedFilter filter{filters.packed + b * spec_.conv.taps() * block,
                               filters.bias + b * block, args.has(3) ? args.input(3) + to : nullptr,
                               spec_.epilogue.finish(b), spec_.epilogue.pass};
    convolve_rows(rows, filter);
  }

  const BlockedSpec spec_;
  const Filters filters_;
};

std::unique_ptr<Kernel> make_depthwise(const KernelSpec& spec) {
  if (!has_kernel_types(spec)) return nullptr;
  const ops::Convolution conv = blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1));
  const bool fits = conv.groups > 1 && conv.in_channels == 1 && conv.out_channels == 1;
  return fits ? std::make_unique<BlockedDepthwiseKernel>(spec) : nullptr;
}

}  // namespace

std::vector<Provider> blocked_depthwise_kernels() {
  return {{&blocked_conv, "depthwise", make_depthwise}};
}

}  // namespace shoal::cpu
