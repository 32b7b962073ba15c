// BlockChannels and UnblockChannels: a transposition of [c, h * w] and [h * w, b] per block. Both
// move every element once and are limited by memory. Lowering keeps them to the borders of blocked
// regions.
#include <algorithm>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/engine/cpu/movement/movement.h"

namespace shoal::cpu {
namespace {

// A block of channels of an image: where it starts in the plain tensor and in the blocked one, and
// the channels it has.
struct Block {
  int64_t plain, blocked, channels;
};

// Base of both directions: one block of channels of one image after the other.
class ReorderKernel : public RectangleKernel {
 public:
  ReorderKernel(const Shape& plain, const Shape& blocked)
      : images_(plain[0]),
        channels_(plain[1]),
        width_(plain[3]),
        plane_(plain[2] * width_),
        blocks_(blocked[1]),
        block_(blocked[4]) {}

  void run(const KernelArgs& args) const override {
    for_each_block(args.pool, plane_,
                   [&](const Block& block) { move_pixels(args, block, 0, plane_); });
  }

  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    int64_t pixels = 0;
    for (const Rectangle& one : where) pixels += one.pixels();
    for_each_block(args.pool, pixels, [&](const Block& block) {
      for (const Rectangle& one : where) {
        for_each_line(one, width_, [&](int64_t first, int64_t count) {
          move_pixels(args, block, first, count);
        });
      }
    });
  }

 protected:
  const int64_t images_, channels_, width_, plane_, blocks_, block_;

 private:
  // Moves `count` pixels of a block, from `first` on.
  virtual void move_pixels(const KernelArgs& args, const Block& block, int64_t first,
                           int64_t count) const = 0;

  // Calls f(block) for blocks of this number of pixels.
  template <class F>
  void for_each_block(ThreadPool& pool, int64_t pixels, const F& f) const {
    constexpr int64_t kElements = 4096;  // worth waking a thread for
    const int64_t grain = kElements / std::max<int64_t>(pixels * block_, 1) + 1;
    pool.parallel_ranges(images_ * blocks_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t channel = i % blocks_ * block_;
        f(Block{(i / blocks_ * channels_ + channel) * plane_, i * plane_ * block_,
                std::min(block_, channels_ - channel)});
      }
    });
  }
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

 private:
  void move_pixels(const KernelArgs& args, const Block& block, int64_t first,
                   int64_t count) const override {
    T* y = args.output<T>(0) + block.blocked + first * block_;
    transpose(args.input<T>(0) + block.plain + first, plane_, block.channels, count, y, block_);
    if (block.channels == block_) return;
    // Channels that fill up the block must be finite.
    for (int64_t i = 0; i < count; ++i, y += block_) {
      std::fill(y + block.channels, y + block_, T{0});
    }
  }
};

template <class T>
class UnblockKernel : public ReorderKernel {
 public:
  explicit UnblockKernel(const KernelSpec& spec)
      : ReorderKernel(spec.outputs[0].shape, spec.shape(0)) {}

 private:
  void move_pixels(const KernelArgs& args, const Block& block, int64_t first,
                   int64_t count) const override {
    transpose(args.input<T>(0) + block.blocked + first * block_, block_, count, block.channels,
              args.output<T>(0) + block.plain + first, plane_);
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
