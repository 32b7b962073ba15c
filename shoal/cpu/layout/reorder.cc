// BlockChannels and UnblockChannels: a transposition of [c, h * w] and [h * w, b] per block. Both
// move every element once and are limited by memory. Lowering keeps them to the borders of blocked
// regions.
#include <algorithm>

#include "shoal/cpu/kernel.h"
#include "shoal/cpu/layout/blocked.h"
#include "shoal/cpu/movement/transpose.h"

namespace shoal::cpu {
namespace {

// Base of both directions: one block of channels of one image after the other.
class ReorderKernel : public Kernel {
 public:
  ReorderKernel(const Shape& plain, const Shape& blocked)
      : images_(plain[0]),
        channels_(plain[1]),
        plane_(plain[2] * plain[3]),
        blocks_(blocked[1]),
        block_(blocked[4]) {}

 protected:
  // Calls f(where the block starts in the plain tensor, in the blocked one, channels it has).
  template <class F>
  void for_each_block(ThreadPool& pool, const F& f) const {
    constexpr int64_t kElements = 4096;  // worth waking a thread for
    const int64_t grain = kElements / std::max<int64_t>(plane_ * block_, 1) + 1;
    pool.parallel_ranges(images_ * blocks_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t channel = i % blocks_ * block_;
        f((i / blocks_ * channels_ + channel) * plane_, i * plane_ * block_,
          std::min(block_, channels_ - channel));
      }
    });
  }

  const int64_t images_, channels_, plane_, blocks_, block_;
};

// to[p * to_stride + c] = from[c * from_stride + p]. Floats are transposed in registers; bytes are
// images of quantised networks, which are blocked once.
void transpose(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
               int64_t to_stride) {
  transpose_matrix(from, from_stride, rows, columns, to, to_stride);
}
template <class T>
void transpose(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to,
               int64_t to_stride) {
  for (int64_t p = 0; p < columns; ++p) {
    for (int64_t c = 0; c < rows; ++c) to[p * to_stride + c] = from[c * from_stride + p];
  }
}

template <class T>
class BlockKernel : public ReorderKernel {
 public:
  explicit BlockKernel(const KernelSpec& spec)
      : ReorderKernel(spec.shape(0), spec.outputs[0].shape) {}

  void run(const KernelArgs& args) const override {
    for_each_block(args.pool, [&](int64_t plain, int64_t blocked, int64_t channels) {
      T* y = args.output<T>(0) + blocked;
      transpose(args.input<T>(0) + plain, plane_, channels, plane_, y, block_);
      if (channels == block_) return;
      // Channels that fill up the block must be finite.
      for (int64_t i = 0; i < plane_; ++i, y += block_) std::fill(y + channels, y + block_, T{0});
    });
  }
};

template <class T>
class UnblockKernel : public ReorderKernel {
 public:
  explicit UnblockKernel(const KernelSpec& spec)
      : ReorderKernel(spec.outputs[0].shape, spec.shape(0)) {}

  void run(const KernelArgs& args) const override {
    for_each_block(args.pool, [&](int64_t plain, int64_t blocked, int64_t channels) {
      transpose(args.input<T>(0) + blocked, block_, plane_, channels, args.output<T>(0) + plain,
                plane_);
    });
  }
};

template <template <class> class K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  switch (spec.outputs[0].dtype) {
    case DType::kF32:
      return std::make_unique<K<float>>(spec);
    case DType::kU8:
      return std::make_unique<K<uint8_t>>(spec);
    case DType::kI8:
      return std::make_unique<K<int8_t>>(spec);
    default:
      return nullptr;
  }
}

}  // namespace

std::vector<Provider> reorder_kernels() {
  return {{&block_channels, "reorder", make<BlockKernel>},
          {&unblock_channels, "reorder", make<UnblockKernel>}};
}

}  // namespace shoal::cpu
