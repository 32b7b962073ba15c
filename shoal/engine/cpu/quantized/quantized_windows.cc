// Windows over blocked channels of bytes, every channel by itself: depthwise convolutions, MaxPool,
// and averages of whole images. Depthwise convolutions copy the rows they read with the zero point
// around them, as u8, so that the inner loop (byte_depthwise.cc) needs neither borders nor signs.
#include <algorithm>
#include <vector>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/conv_loops/direct_rows.h"
#include "shoal/engine/cpu/quantized/byte_loops.h"
#include "shoal/engine/cpu/quantized/quantized_spec.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

using In = QConvInputs;

constexpr int64_t kElements = 8192;  // worth waking a thread for

// Calls f(plane, first row, end) on several threads until all rows of all `blocks` planes are
// covered. A row takes `work` multiply-accumulates.
template <class F>
void for_each_part(ThreadPool& pool, int64_t blocks, int64_t rows, int64_t work, const F& f) {
  pool.parallel_ranges(blocks * rows, kElements / std::max<int64_t>(work, 1) + 1,
                       [&](int64_t begin, int64_t end) {
                         while (begin < end) {
                           const int64_t first = begin % rows;
                           const int64_t last = std::min(first + end - begin, rows);
                           f(begin / rows, first, last);
                           begin += last - first;
                         }
                       });
}

class QuantizedDepthwiseKernel : public Kernel {
 public:
  explicit QuantizedDepthwiseKernel(const KernelSpec& spec)
      : spec_(spec),
        function_(depthwise_function(columns().kernel, columns().stride, columns().dilation)),
        rows_(spec_.conv, spec_.block, spec_.block, true, true),
        threads_(spec.pool.threads()) {
    constexpr int64_t kChunkBytes = int64_t{16} << 10;  // half of a first-level cache
    rows_.share(spec_.conv.batch * spec_.out_blocks, 1, 1, kChunkBytes, threads_);
    spec_.fold_zero_point(function_.pixel_offset);
    function_.in_bytes ? pack_bytes() : pack_floats();
  }

  void run(const KernelArgs& args) const override {
    const int64_t parts = rows_.parts_of_image();
    args.pool.parallel_for(
        spec_.conv.batch * spec_.out_blocks * parts, [&](int64_t index, int slot) {
          run_part(args, index / parts, index % parts,
                   reinterpret_cast<uint8_t*>(args.scratch) + slot * scratch_of_thread());
        });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(scratch_of_thread() * threads_);
  }

 private:
  const ops::WindowAxis& tap_rows() const { return spec_.conv.window.axes[1]; }
  const ops::WindowAxis& columns() const { return spec_.conv.window.axes[2]; }
  int64_t scratch_of_thread() const { return rows_.copied_elements() + kDepthwiseSlack; }

  // Calls f(channel, row of taps, column of taps, weight).
  template <class F>
  void for_each_weight(const F& f) const {
    const int64_t rows = tap_rows().kernel, width = columns().kernel;
    const int8_t* w = spec_.weights;
    for (int64_t c = 0; c < spec_.in_channels; ++c) {
      for (int64_t tap = 0; tap < rows * width; ++tap) f(c, tap / width, tap % width, *w++);
    }
  }

  void pack_floats() {
    const int64_t block = spec_.block, taps = spec_.conv.taps();
    weights_of_block_ = taps * block;
    floats_.resize(static_cast<size_t>(spec_.out_blocks * weights_of_block_));
    for_each_weight([&](int64_t c, int64_t row, int64_t column, int8_t w) {
      const int64_t tap = row * columns().kernel + column;
      floats_[static_cast<size_t>((c / block * taps + tap) * block + c % block)] = w;
    });
  }

  void pack_bytes() {
    const int64_t block = spec_.block, outputs = function_.outputs, quads = function_.quads;
    weights_of_block_ = tap_rows().kernel * quads * outputs * block * 4;
    bytes_.resize(static_cast<size_t>(spec_.out_blocks * weights_of_block_));
    for_each_weight([&](int64_t c, int64_t row, int64_t column, int8_t w) {
      for (int64_t o = 0; o < outputs; ++o) {
        // Output o of a pair meets tap `column` at pixel column + o of what both read.
        const int64_t at = column + o, vector = (row * quads + at / 4) * outputs + o;
        bytes_[static_cast<size_t>(c / block * weights_of_block_ +
                                   (vector * block + c % block) * 4 + at % 4)] = w;
      }
    });
  }

  void run_part(const KernelArgs& args, int64_t plane, int64_t part, uint8_t* scratch) const {
    const int64_t block = spec_.block, to = plane * spec_.conv.output_plane() * block;
    const uint8_t* image = bytes_of(args.inputs[In::kX]) + plane * spec_.conv.input_plane() * block;
    ByteDepthwise row = describe(plane % spec_.out_blocks);
    rows_.for_each_row(image, part, static_cast<uint8_t>(spec_.x_zero), scratch,
                       ByteCopier{spec_.x_flip},
                       [&](int64_t, const uint8_t* x, int64_t y, int64_t, int64_t) {
                         const int64_t at = to + y * row.pixels * block;
                         row.x = x;
                         row.y = bytes_of(args.outputs[0]) + at;
                         if (args.has(In::kResidual)) {
                           row.residual = bytes_of(args.inputs[In::kResidual]) + at;
                         }
                         function_.convolve(row);
                       });
  }

  // Everything in a row that does not depend on its place.
  ByteDepthwise describe(int64_t block) const {
    ByteDepthwise row;
    row.x_row = rows_.tap_row();
    row.x_column = rows_.tap_column();
    row.step = rows_.step();
    row.tap_rows = tap_rows().kernel;
    row.tap_columns = columns().kernel;
    row.w = function_.in_bytes ? static_cast<const void*>(bytes_.data() + block * weights_of_block_)
                               : floats_.data() + block * weights_of_block_;
    row.bias = spec_.bias.data() + block * spec_.block;
    row.scale = spec_.scales.data() + block * spec_.block;
    row.pixels = columns().output;
    row.finish = spec_.finish;
    return row;
  }

  QuantizedSpec spec_;
  const DepthwiseFunction function_;
  DirectRows<uint8_t> rows_;
  const int threads_;
  int64_t weights_of_block_ = 0;
  std::vector<float> floats_;  // the weights in one form, or
  std::vector<int8_t> bytes_;  // in the other
};

// MaxPool, which lowering makes a pool over three axes: rows, columns, and the channels of a block.
// Quantisation is monotonic, so that the maximum of bytes is that of the numbers.
class QuantizedMaxPoolKernel : public Kernel {
 public:
  explicit QuantizedMaxPoolKernel(const KernelSpec& spec)
      : window_(ops::window_of(spec.node, spec.shape(0))),
        blocks_(spec.shape(0)[0] * spec.shape(0)[1]),
        block_(spec.shape(0)[4]),
        flip_(flip_of(spec.outputs[0].dtype)) {}

  void run(const KernelArgs& args) const override {
    const ops::WindowAxis &rows = window_.axes[0], &columns = window_.axes[1];
    for_each_part(
        args.pool, blocks_, rows.output, columns.output * block_ * rows.kernel * columns.kernel,
        [&](int64_t plane, int64_t begin, int64_t end) {
          max_bytes({&rows, &columns,
                     bytes_of(args.inputs[0]) + plane * rows.input * columns.input * block_,
                     bytes_of(args.outputs[0]) + plane * rows.output * columns.output * block_,
                     flip_, begin, end});
        });
  }

 private:
  const ops::Window window_;
  const int64_t blocks_, block_;
  const uint8_t flip_;
};

class QuantizedAverageKernel : public Kernel {
 public:
  explicit QuantizedAverageKernel(const KernelSpec& spec)
      : x_(spec.shape(0)),
        channels_(spec.outputs[0].shape[1]),
        flip_(flip_of(spec.outputs[0].dtype)),
        x_zero_(ops::zero_point_of(*spec.constant(2)) + flip_),
        y_zero_(ops::zero_point_of(*spec.constant(4))),
        // 1 / pixels is part of the scale: one multiplication per channel requantises the sum.
        scale_(ops::scale_of(*spec.constant(1)) /
               (ops::scale_of(*spec.constant(3)) * static_cast<float>(x_[2] * x_[3]))) {}

  void run(const KernelArgs& args) const override {
    const int64_t pixels = x_[2] * x_[3], block = x_[4];
    args.pool.parallel_ranges(
        x_[0] * x_[1], kElements / (pixels * block) + 1, [&](int64_t begin, int64_t end) {
          std::vector<int64_t> sums(static_cast<size_t>(block));
          for (int64_t i = begin; i < end; ++i) {
            sum_plane(bytes_of(args.inputs[0]) + i * pixels * block, sums);
            const int64_t channel = i % x_[1] * block;
            const auto count = static_cast<size_t>(std::min(block, channels_ - channel));
            store(std::span(sums).first(count), args.outputs[0], i / x_[1] * channels_ + channel);
          }
        });
  }

 private:
  // The channels of a block, part by part: a large plane exceeds the 32 bits of sum_bytes().
  void sum_plane(const uint8_t* x, std::span<int64_t> sums) const {
    constexpr int64_t kPart = int64_t{1} << 20;
    const int64_t pixels = x_[2] * x_[3], block = x_[4];
    std::vector<int32_t> part(sums.size());
    std::ranges::fill(sums, 0);
    for (int64_t i = 0; i < pixels; i += kPart) {
      sum_bytes(x + i * block, flip_, x_zero_, std::min(kPart, pixels - i), part.data());
      for (size_t c = 0; c < sums.size(); ++c) sums[c] += part[c];
    }
  }

  void store(std::span<const int64_t> sums, Tensor& y, int64_t at) const {
    visit<ops::Bytes>(y.dtype(), [&]<class T>() {
      std::ranges::transform(sums, y.data<T>().begin() + at, [&](int64_t sum) {
        return ops::quantize<T>(static_cast<float>(sum) * scale_, y_zero_);
      });
    });
  }

  const Shape x_;
  const int64_t channels_;
  const uint8_t flip_;
  const int32_t x_zero_, y_zero_;
  const float scale_;
};

std::unique_ptr<Kernel> make_depthwise(const KernelSpec& spec) {
  const bool fits = spec.node.integer("group", 1) > 1 && has_plain_weights(spec.inputs) &&
                    spec.shape(In::kW).count(1, 4) <= kMostExactTaps &&
                    spec.outputs[0].shape[4] == block_size();
  return fits ? std::make_unique<QuantizedDepthwiseKernel>(spec) : nullptr;
}

std::unique_ptr<Kernel> make_max_pool(const KernelSpec& spec) {
  const Shape& x = spec.shape(0);
  if (!ops::Bytes::contains(spec.outputs[0].dtype) || spec.outputs.size() > 1) return nullptr;
  if (x.rank() != 5 || x[4] != block_size()) return nullptr;
  const ops::WindowAxis lanes = ops::window_of(spec.node, x).axes[2];
  const bool single = lanes.kernel == 1 && lanes.stride == 1 && lanes.output == lanes.input;
  return single ? std::make_unique<QuantizedMaxPoolKernel>(spec) : nullptr;
}

std::unique_ptr<Kernel> make_average(const KernelSpec& spec) {
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    if (spec.constant(i) == nullptr) return nullptr;
  }
  if (spec.shape(0)[4] != block_size()) return nullptr;
  return std::make_unique<QuantizedAverageKernel>(spec);
}

}  // namespace

std::vector<Provider> quantized_windows_kernels() {
  return {{&blocked_q_linear_conv, "depthwise", make_depthwise},
          {&blocked_q_linear_global_average_pool, "blocked", make_average},
          {&ops::max_pool, "blocked_bytes", make_max_pool}};
}

}  // namespace shoal::cpu
