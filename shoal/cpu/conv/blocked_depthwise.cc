// BlockedConv with one input and one output channel per group (depthwise). Threads share rows of
// blocks of channels; the loop over a row is in blocked_rows.cc. It reads the image once per row of
// taps and is limited by loads.
#include <algorithm>

#include "shoal/cpu/conv/blocked_rows.h"
#include "shoal/cpu/conv/blocked_site.h"
#include "shoal/cpu/conv/filters.h"

namespace shoal::cpu {
namespace {

class BlockedDepthwiseKernel : public Kernel {
 public:
  explicit BlockedDepthwiseKernel(const KernelSpec& site)
      : site_(site),
        filters_(site, {"depthwise", {site_.in_channels, site_.conv.taps(), site_.block}},
                 packed_floats(), site_.out_blocks, packing()) {}

  void run(const KernelArgs& call) const override {
    const Filters::View filters =
        filters_.view(call, reinterpret_cast<float*>(call.scratch), packing());
    const ops::WindowAxis& rows = site_.rows();
    constexpr int64_t kElements = 4096;  // worth waking a thread for
    const int64_t line = site_.columns().output * site_.conv.taps() * site_.block;
    const int64_t all = site_.conv.batch * site_.out_blocks * rows.output;
    call.pool.parallel_ranges(all, kElements / line + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t plane = i / rows.output, first = i % rows.output;
        const int64_t last = std::min(first + end - i, rows.output);
        run_rows(call, filters, plane, first, last);
        i += last - first;
      }
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(filters_.scratch_floats()) * sizeof(float);
  }

 private:
  int64_t packed_floats() const { return site_.out_blocks * site_.conv.taps() * site_.block; }

  // Packed filters are [block][tap][channel], zeros for channels that fill up the last block.
  Filters::Pack packing() const {
    return [this](const float* w, ThreadPool&, float* packed) {
      const int64_t taps = site_.conv.taps(), block = site_.block;
      std::fill_n(packed, packed_floats(), 0.0f);
      for (int64_t c = 0; c < site_.in_channels; ++c) {
        float* to = packed + c / block * taps * block + c % block;
        for (int64_t tap = 0; tap < taps; ++tap) to[tap * block] = w[c * taps + tap];
      }
    };
  }

  void run_rows(const KernelArgs& call, const Filters::View& filters, int64_t plane, int64_t begin,
                int64_t end) const {
    const int64_t block = site_.block, b = plane % site_.out_blocks;
    const int64_t to = plane * site_.conv.output_plane() * block;
    const BlockedRows rows{&site_.rows(),
                           &site_.columns(),
                           call.input(0) + plane * site_.conv.input_plane() * block,
                           call.output(0) + to,
                           begin,
                           end};
    const BlockedFilter filter{filters.packed + b * site_.conv.taps() * block,
                               filters.bias + b * block, call.has(3) ? call.input(3) + to : nullptr,
                               site_.activation.low, site_.activation.high};
    convolve_rows(rows, filter);
    if (site_.activation.pass.loop == nullptr) return;
    const int64_t line = site_.columns().output * block;
    site_.activation.pass(rows.y + begin * line, rows.y + begin * line, (end - begin) * line);
  }

  const BlockedSite site_;
  const Filters filters_;
};

std::unique_ptr<Kernel> make_depthwise(const KernelSpec& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  const ops::Convolution conv = blocked_convolution_of(site.node, site.shape(0), site.shape(1));
  const bool fits = conv.groups > 1 && conv.in_channels == 1 && conv.out_channels == 1;
  return fits ? std::make_unique<BlockedDepthwiseKernel>(site) : nullptr;
}

}  // namespace

std::vector<Provider> blocked_depthwise_kernels() {
  return {{&blocked_conv, "depthwise", make_depthwise}};
}

}  // namespace shoal::cpu
