// BlockedConv with one input and one output channel per group.
#include <algorithm>

#include "shoal/cpu/blocked_rows.h"
#include "shoal/cpu/blocked_site.h"

namespace shoal::cpu {
namespace {

class BlockedDepthwiseKernel : public Kernel {
 public:
  explicit BlockedDepthwiseKernel(const Site& site)
      : site_(site), weights_(site_.out_blocks * site_.conv.taps() * site_.block) {
    const float* w = site.constant(1)->data<float>().data();
    const int64_t taps = site_.conv.taps(), block = site_.block;
    std::fill_n(weights_.data(), site_.out_blocks * taps * block, 0.0f);
    for (int64_t c = 0; c < site_.in_channels; ++c) {
      float* to = weights_.data() + c / block * taps * block + c % block;
      for (int64_t tap = 0; tap < taps; ++tap) to[tap * block] = w[c * taps + tap];
    }
  }

  void run(const Call& call) const override {
    const ops::WindowAxis& rows = site_.rows();
    constexpr int64_t kElements = 4096;  // that are worth waking a thread
    const int64_t line = site_.columns().output * site_.conv.taps() * site_.block;
    const int64_t all = site_.conv.batch * site_.out_blocks * rows.output;
    call.pool.parallel_ranges(all, kElements / line + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t plane = i / rows.output, first = i % rows.output;
        const int64_t last = std::min(first + end - i, rows.output);
        run_rows(call, plane, first, last);
        i += last - first;
      }
    });
  }

 private:
  void run_rows(const Call& call, int64_t plane, int64_t begin, int64_t end) const {
    const int64_t block = site_.block, b = plane % site_.out_blocks;
    const int64_t to = plane * site_.conv.output_plane() * block;
    const BlockedRows rows{&site_.rows(),
                           &site_.columns(),
                           call.input(0) + plane * site_.conv.input_plane() * block,
                           call.output(0) + to,
                           begin,
                           end};
    const BlockedFilter filter{
        weights_.data() + b * site_.conv.taps() * block, site_.bias.data() + b * block,
        call.has(3) ? call.input(3) + to : nullptr, site_.activation.low, site_.activation.high};
    convolve_rows(rows, filter);
    if (site_.activation.pass.loop == nullptr) return;
    const int64_t line = site_.columns().output * block;
    site_.activation.pass(rows.y + begin * line, rows.y + begin * line, (end - begin) * line);
  }

  const BlockedSite site_;
  AlignedFloats weights_;  // [block][tap][channel]
};

std::unique_ptr<Kernel> make_depthwise(const Site& site) {
  if (!has_constant_filters(site)) return nullptr;
  const ops::Convolution conv = blocked_convolution_of(site.node, site.shape(0), site.shape(1));
  const bool fits = conv.groups > 1 && conv.in_channels == 1 && conv.out_channels == 1;
  return fits ? std::make_unique<BlockedDepthwiseKernel>(site) : nullptr;
}

}  // namespace

std::vector<Provider> blocked_depthwise_kernels() {
  return {{&blocked_conv, "depthwise", make_depthwise}};
}

}  // namespace shoal::cpu
