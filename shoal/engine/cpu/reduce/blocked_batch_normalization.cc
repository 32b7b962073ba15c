// BatchNormalization in training mode, and its gradients, in the blocked layout. With n = (x -
// mean) / s, s = sqrt(variance + epsilon), and N elements per channel:
//   y  = scale * n + bias
//   dx = scale / s * (dy - sum(dy) / N - n * sum(dy * n) / N)
//   dscale = sum(dy * n), dbias = sum(dy)
// Sums of short parts of planes are computed independently, in float, and combined in double in the
// order of images. Parts are fixed in size, so that results do not depend on the number of threads.
// x is read for the moments and for y; backwards, for the moments, for the sums with dy, and for
// dx. Memory is the limit.
#include <algorithm>
#include <cmath>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/engine/cpu/reduce/rows.h"
#include "shoal/model/ops/norm/moments.h"

namespace shoal::cpu {
namespace {

constexpr int64_t kPartPixels = 512;  // at most 32 KB: in a first-level cache between two passes

// Base of both directions: sizes, and sums per channel over the whole batch.
class BatchKernel : public Kernel {
 public:
  explicit BatchKernel(const KernelSpec& spec)
      : images_(spec.shape(0)[0]),
        blocks_(spec.shape(0)[1]),
        pixels_(spec.shape(0)[2] * spec.shape(0)[3]),
        block_(spec.shape(0)[4]),
        channels_(spec.shape(1).count()),
        parts_(ceil_div(pixels_, kPartPixels)),
        epsilon_(spec.node.real("epsilon", 1e-5f)) {}

  size_t scratch_bytes() const override {
    return static_cast<size_t>(sum_floats() + kScales * wide()) * sizeof(float);
  }

 protected:
  static constexpr int64_t kScales = 4;  // coefficients per channel, at most

  int64_t sum_floats() const { return 2 * images_ * blocks_ * parts_ * block_; }
  int64_t wide() const { return blocks_ * block_; }  // channels, with those that fill up blocks
  double count() const { return static_cast<double>(images_ * pixels_); }
  float* scales(const KernelArgs& args) const {
    return reinterpret_cast<float*>(args.scratch) + sum_floats();
  }

  int64_t pixels_of(int64_t part) const {
    return std::min(kPartPixels, pixels_ - part * kPartPixels);
  }

  // Calls f(offset in images, pixels, first channel of the block, two sums per channel for it to
  // write) for each part.
  template <class F>
  void for_each_part(const KernelArgs& args, const F& f) const {
    auto* sums = reinterpret_cast<float*>(args.scratch);
    args.pool.parallel_ranges(images_ * blocks_ * parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t plane = i / parts_, part = i % parts_;
        f((plane * pixels_ + part * kPartPixels) * block_, pixels_of(part),
          plane % blocks_ * block_, sums + 2 * i * block_);
      }
    });
  }

  // Calls f(first, second of the two sums, pixels) for a channel's parts, image by image.
  template <class F>
  void for_each_sum(const KernelArgs& args, int64_t channel, const F& f) const {
    const auto* sums = reinterpret_cast<const float*>(args.scratch);
    for (int64_t n = 0; n < images_; ++n) {
      const int64_t first = (n * blocks_ + channel / block_) * parts_;
      for (int64_t part = 0; part < parts_; ++part) {
        const float* of = sums + 2 * (first + part) * block_ + channel % block_;
        f(double{of[0]}, double{of[block_]}, static_cast<double>(pixels_of(part)));
      }
    }
  }

  void measure(const KernelArgs& args) const {
    for_each_part(args, [&](int64_t at, int64_t pixels, int64_t, float* sums) {
      block_moments(args.input(0) + at, pixels, sums, sums + block_);
    });
  }

  // Moments of a channel from those of its parts:
  //   variance = sum of (squares_i + pixels_i * (mean_i - mean)^2) / N
  ops::Moments moments_of(const KernelArgs& args, int64_t channel) const {
    ops::Moments moments;
    for_each_sum(args, channel, [&](double mean, double, double pixels) {
      moments.mean += mean * pixels / count();
    });
    double squares = 0;
    for_each_sum(args, channel, [&](double mean, double of_part, double pixels) {
      const double off = mean - moments.mean;
      squares += of_part + off * off * pixels;
    });
    moments.variance = squares / count();
    return moments;
  }

  const int64_t images_, blocks_, pixels_, block_, channels_, parts_;
  const double epsilon_;
};

class NormalizeKernel : public BatchKernel {
 public:
  explicit NormalizeKernel(const KernelSpec& spec)
      : BatchKernel(spec), momentum_(spec.node.real("momentum", 0.9f)) {}

  void run(const KernelArgs& args) const override {
    measure(args);
    float *mean = scales(args), *factor = mean + wide(), *shift = factor + wide();
    std::fill_n(mean, 3 * wide(), 0.0f);
    for (int64_t c = 0; c < channels_; ++c) {
      const ops::Moments moments = moments_of(args, c);
      mean[c] = static_cast<float>(moments.mean);
      factor[c] =
          static_cast<float>(double{args.input(1)[c]} * moments.inverse_deviation(epsilon_));
      shift[c] = args.input(2)[c];
      if (args.outputs.size() > 1) average(args, 1, c, moments.mean);
      if (args.outputs.size() > 2) average(args, 2, c, moments.variance);
    }
    for_each_part(args, [&](int64_t at, int64_t pixels, int64_t lane, float*) {
      scale_block({mean + lane, factor + lane, shift + lane}, args.input(0) + at,
                  args.output(0) + at, pixels);
    });
  }

 private:
  // Outputs 1 and 2 are inputs 3 and 4, moved towards what was measured.
  void average(const KernelArgs& args, size_t output, int64_t c, double measured) const {
    const double before = args.input(output + 2)[c];
    args.output(output)[c] = static_cast<float>(momentum_ * before + (1 - momentum_) * measured);
  }

  const double momentum_;
};

class NormalizeBackwardKernel : public BatchKernel {
 public:
  using BatchKernel::BatchKernel;

  void run(const KernelArgs& args) const override {
    measure(args);
    float *mean = scales(args), *factor = mean + wide();
    float *slope = factor + wide(), *shift = slope + wide();
    std::fill_n(mean, 4 * wide(), 0.0f);
    for (int64_t c = 0; c < channels_; ++c) {
      const ops::Moments moments = moments_of(args, c);
      mean[c] = static_cast<float>(moments.mean);
      factor[c] = static_cast<float>(moments.inverse_deviation(epsilon_));
    }
    for_each_part(args, [&](int64_t at, int64_t pixels, int64_t lane, float* sums) {
      block_products(args.input(0) + at, mean + lane, args.input(2) + at, pixels, sums,
                     sums + block_);
    });
    for (int64_t c = 0; c < channels_; ++c) finish(args, c, factor[c], slope[c], shift[c]);
    for_each_part(args, [&](int64_t at, int64_t pixels, int64_t lane, float*) {
      mix_blocks({mean + lane, factor + lane, slope + lane, shift + lane}, args.input(0) + at,
                 args.input(2) + at, args.output(0) + at, pixels);
    });
  }

 private:
  // From sums to the coefficients of dx = factor * dy + slope * (x - mean) + shift. `factor` comes
  // in as 1 / s.
  void finish(const KernelArgs& args, int64_t c, float& factor, float& slope, float& shift) const {
    double sum = 0, along = 0;
    for_each_sum(args, c, [&](double of_dy, double of_product, double) {
      sum += of_dy;
      along += of_product;
    });
    const double inverse = factor, scaled = inverse * double{args.input(1)[c]};
    factor = static_cast<float>(scaled);
    slope = static_cast<float>(-scaled * inverse * inverse * along / count());
    shift = static_cast<float>(-scaled * sum / count());
    if (args.outputs.size() > 1) args.output(1)[c] = static_cast<float>(along * inverse);
    if (args.outputs.size() > 2) args.output(2)[c] = static_cast<float>(sum);
  }
};

template <class K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  const Shape& x = spec.shape(0);
  if (!spec.all_of_type(DType::kF32) || x.count() == 0 || x[4] != block_size()) return nullptr;
  return std::make_unique<K>(spec);
}

}  // namespace

std::vector<Provider> blocked_batch_normalization_kernels() {
  return {{&blocked_batch_normalization, "blocked", make<NormalizeKernel>},
          {&blocked_batch_normalization_backward, "blocked", make<NormalizeBackwardKernel>}};
}

}  // namespace shoal::cpu
