// BlockedInstanceNormalization: y = (x - mean) / sqrt(variance + epsilon) * scale + bias per
// channel of an image. A plane is cut into parts whose moments are computed independently and then
// combined, because there may be one block of channels only and many threads. Parts are fixed in
// size, so that results do not depend on the number of threads.
#include <algorithm>
#include <cmath>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/engine/cpu/reduce/rows.h"

namespace shoal::cpu {
namespace {

constexpr int64_t kPartPixels = 512;  // at most 32 KB: in a first-level cache between two passes

class BlockedNormalizationKernel : public Kernel {
 public:
  explicit BlockedNormalizationKernel(const KernelSpec& spec)
      : planes_(spec.shape(0)[0] * spec.shape(0)[1]),
        blocks_(spec.shape(0)[1]),
        pixels_(spec.shape(0)[2] * spec.shape(0)[3]),
        block_(spec.shape(0)[4]),
        channels_(spec.shape(1).count()),
        parts_((pixels_ + kPartPixels - 1) / kPartPixels),
        epsilon_(spec.node.real("epsilon", 1e-5f)) {}

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    args.pool.parallel_ranges(planes_ * parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* moments = scratch + i / parts_ * plane_floats() + i % parts_ * 2 * block_;
        block_moments(args.input(0) + offset(i), pixels_of(i), moments, moments + block_);
      }
    });
    args.pool.parallel_ranges(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) combine(args, i, scratch + i * plane_floats());
    });
    args.pool.parallel_ranges(planes_ * parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* scale = scratch + i / parts_ * plane_floats() + parts_ * 2 * block_;
        scale_block({scale, scale + block_, scale + 2 * block_}, args.input(0) + offset(i),
                    args.output(0) + offset(i), pixels_of(i));
      }
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(planes_ * plane_floats()) * sizeof(float);
  }

 private:
  // Scratch of a plane: mean and squares of each part, then mean, factor and shift of the whole.
  int64_t plane_floats() const { return (2 * parts_ + 3) * block_; }

  // `part` counts the parts of all planes.
  int64_t offset(int64_t part) const {
    return (part / parts_ * pixels_ + part % parts_ * kPartPixels) * block_;
  }
  int64_t pixels_of(int64_t part) const {
    return std::min(kPartPixels, pixels_ - part % parts_ * kPartPixels);
  }

  void combine(const KernelArgs& args, int64_t plane, float* moments) const {
    float* scale = moments + parts_ * 2 * block_;
    for (int64_t lane = 0; lane < block_; ++lane) {
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < parts_; ++i) mean += part_mean(moments, i, lane) * share(i);
      for (int64_t i = 0; i < parts_; ++i) {
        const double off = part_mean(moments, i, lane) - mean;
        squares += static_cast<double>(moments[(2 * i + 1) * block_ + lane]) +
                   off * off * static_cast<double>(pixels_of(i));
      }
      const double variance = squares / static_cast<double>(pixels_);
      const int64_t channel = plane % blocks_ * block_ + lane;
      // Channels that fill up the block have no scale; zero keeps them finite.
      const bool is_there = channel < channels_;
      scale[lane] = static_cast<float>(mean);
      scale[block_ + lane] =
          is_there ? args.input(1)[channel] * static_cast<float>(1 / std::sqrt(variance + epsilon_))
                   : 0;
      scale[2 * block_ + lane] = is_there ? args.input(2)[channel] : 0;
    }
  }

  double part_mean(const float* moments, int64_t part, int64_t lane) const {
    return moments[2 * part * block_ + lane];
  }
  double share(int64_t part) const {
    return static_cast<double>(pixels_of(part)) / static_cast<double>(pixels_);
  }

  const int64_t planes_, blocks_, pixels_, block_, channels_, parts_;
  const double epsilon_;
};

std::unique_ptr<Kernel> make_normalization(const KernelSpec& spec) {
  const Shape& x = spec.shape(0);
  if (!spec.all_of_type(DType::kF32) || x.count() == 0 || x[4] != block_size()) return nullptr;
  return std::make_unique<BlockedNormalizationKernel>(spec);
}

}  // namespace

std::vector<Provider> blocked_normalization_kernels() {
  return {{&blocked_instance_normalization, "blocked", make_normalization}};
}

}  // namespace shoal::cpu
