// BlockedConvWeightsBackward by its definition:
//   dw[m, c, tap] = sum over images and pixels of x[n, c, pixel * stride + tap] * dy[n, m, pixel]
// Threads share the images. Each copies the rows it works on, with zeros around them, and
// accumulates its own weights, which are added up at the end, in the order of threads. The
// partition depends on the number of threads alone, so that a run repeats bit for bit. Scratch: a
// copy of all weights per thread.
#include <algorithm>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/layout/blocked.h"

namespace shoal::cpu {
namespace {

// Pixels of the output that a thread works on at a time. The part of one block of the image that
// they meet stays in the first-level cache, and sums are loaded and stored once for all of them.
constexpr int64_t kChunkPixels = 256;

class WeightsBackwardKernel : public Kernel {
 public:
  explicit WeightsBackwardKernel(const KernelSpec& spec)
      : conv_(blocked_convolution_behind(spec.node, spec.shape(0), spec.outputs[0].shape)),
        rows_(conv_.window.axes[1]),
        columns_(conv_.window.axes[2]),
        block_(spec.shape(1)[4]),
        image_is_blocked_(spec.shape(0).rank() == 5),
        pixel_(image_is_blocked_ ? block_ : conv_.in_channels),
        in_blocks_(image_is_blocked_ ? spec.shape(0)[1] : 1),
        out_blocks_(spec.shape(1)[1]) {
    const int64_t plane = conv_.output_plane();
    chunk_images_ = std::clamp<int64_t>(kChunkPixels / plane, 1, conv_.batch);
    chunk_rows_ = std::clamp<int64_t>(kChunkPixels / columns_.output, 1, rows_.output);
    chunks_of_image_ = ceil_div(rows_.output, chunk_rows_);
    chunks_ = ceil_div(conv_.batch, chunk_images_) * chunks_of_image_;
    parts_ = std::min<int64_t>(spec.pool.threads(), chunks_);
    elements_ = most_elements();
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    args.pool.parallel_for(parts_, [&](int64_t part, int) {
      const Part mine = part_at(scratch, part);
      std::fill_n(mine.sums, sums_floats() + bias_floats(), 0.0f);
      for (int64_t i = chunks_ * part / parts_; i < chunks_ * (part + 1) / parts_; ++i) {
        sum_chunk(args, chunk_at(i), mine);
      }
    });
    args.pool.parallel_ranges(conv_.out_channels, 8, [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) finish(args, scratch, m);
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(parts_ * part_floats()) * sizeof(float);
  }

 private:
  struct Part {
    float* sums;  // [block of output channels][block of the image][row of taps][column][pixel_][b]
    float* bias;  // [block of output channels][b]
    float* copy;  // [image][block][row][column][pixel_]
  };
  Part part_at(float* scratch, int64_t part) const {
    float* first = scratch + part * part_floats();
    return {first, first + sums_floats(), first + sums_floats() + bias_floats()};
  }

  int64_t tap_row_floats() const { return columns_.kernel * pixel_ * block_; }
  int64_t pair_floats() const { return rows_.kernel * tap_row_floats(); }  // of two blocks
  int64_t sums_floats() const { return out_blocks_ * in_blocks_ * pair_floats(); }
  int64_t bias_floats() const { return out_blocks_ * block_; }
  int64_t copied_columns() const {
    return (columns_.output - 1) * columns_.stride + columns_.extent();
  }
  int64_t copied_rows(int64_t count) const { return (count - 1) * rows_.stride + rows_.extent(); }
  int64_t copied_row() const { return copied_columns() * pixel_; }
  int64_t copied_block() const { return copied_rows(chunk_rows_) * copied_row(); }
  int64_t copied_image() const { return in_blocks_ * copied_block(); }
  int64_t part_floats() const {
    constexpr int64_t kLine = 16;  // floats of a cache line: no false sharing
    return round_up(sums_floats() + bias_floats() + chunk_images_ * copied_image(), kLine);
  }

  // Some images, or some rows of one.
  struct Chunk {
    ops::Range images, rows;  // the latter of the output
  };
  Chunk chunk_at(int64_t index) const {
    const int64_t image = index / chunks_of_image_ * chunk_images_;
    const int64_t row = index % chunks_of_image_ * chunk_rows_;
    return {{image, std::min(image + chunk_images_, conv_.batch)},
            {row, std::min(row + chunk_rows_, rows_.output)}};
  }

  void sum_chunk(const KernelArgs& args, const Chunk& chunk, const Part& part) const {
    for (int64_t n = chunk.images.begin; n < chunk.images.end; ++n) {
      copy_rows(args, n, chunk.rows, part.copy + (n - chunk.images.begin) * copied_image());
    }
    for (int64_t m = 0; m < out_blocks_; ++m) {
      WeightsTile tile = describe(args, chunk, m);
      if (args.outputs.size() > 1) sum_bias(tile, part.bias + m * block_);
      for (int64_t b = 0; b < in_blocks_; ++b) {
        sum_taps(tile, part.copy + b * copied_block(), channels_of(b),
                 part.sums + (m * in_blocks_ + b) * pair_floats());
      }
    }
  }

  int64_t channels_of(int64_t b) const { return std::min(pixel_, conv_.in_channels - b * pixel_); }

  // Everything in a tile but its elements of the image and its sums.
  WeightsTile describe(const KernelArgs& args, const Chunk& chunk, int64_t m) const {
    WeightsTile tile;
    tile.x_image = copied_image();
    tile.x_row = rows_.stride * copied_row();
    tile.x_pixel = columns_.stride * pixel_;
    tile.dy_row = columns_.output * block_;
    tile.dy_image = out_blocks_ * conv_.output_plane() * block_;
    tile.dy = args.input(1) + chunk.images.begin * tile.dy_image +
              (m * rows_.output + chunk.rows.begin) * tile.dy_row;
    tile.images = chunk.images.count();
    tile.rows = chunk.rows.count();
    tile.pixels = columns_.output;
    return tile;
  }

  void sum_bias(const WeightsTile& tile, float* bias) const {
    for (int64_t n = 0; n < tile.images; ++n) {
      add_pixels(tile.dy + n * tile.dy_image, tile.rows * tile.pixels, bias);
    }
  }

  // If all channels of a pixel exist and taps are neighbours, a row of taps is one contiguous line
  // of the image, which fills tiles better than single taps.
  void sum_taps(WeightsTile& tile, const float* x, int64_t channels, float* sums) const {
    const bool whole_rows = channels == pixel_ && columns_.dilation == 1;
    const int64_t lines = whole_rows ? 1 : columns_.kernel;
    const int64_t length = whole_rows ? columns_.kernel * pixel_ : channels;
    for (int64_t row = 0; row < rows_.kernel; ++row) {
      for (int64_t line = 0; line < lines; ++line) {
        const float* from =
            x + row * rows_.dilation * copied_row() + line * columns_.dilation * pixel_;
        float* to = sums + row * tap_row_floats() + line * pixel_ * block_;
        for (int64_t i = 0; i < length; i += elements_) {
          tile.x = from + i;
          tile.sums = to + i * block_;
          weights_tile_function(std::min(elements_, length - i))(tile);
        }
      }
    }
  }

  // Copies the part of one image that some rows of the output read, with zeros for padding.
  void copy_rows(const KernelArgs& args, int64_t image, ops::Range lines, float* to) const {
    const int64_t plane = rows_.input * columns_.input;
    const float* x = args.input(0) + image * in_blocks_ * plane * pixel_;
    const int64_t first = rows_.position(lines.begin, 0);
    for (int64_t b = 0; b < in_blocks_; ++b, x += plane * pixel_) {
      float* line = to + b * copied_block();
      for (int64_t i = 0; i < copied_rows(lines.count()); ++i, line += copied_row()) {
        const int64_t row = first + i;
        const bool inside = row >= 0 && row < rows_.input;
        copy_line(inside ? x + row * columns_.input * (image_is_blocked_ ? pixel_ : 1) : nullptr,
                  line);
      }
    }
  }

  // Copies one line with its padding. A null x is a row of padding.
  void copy_line(const float* x, float* to) const {
    const int64_t width = copied_columns(), plane = rows_.input * columns_.input;
    const int64_t begin = x == nullptr ? width : std::min(columns_.pad_begin, width);
    const int64_t end = std::clamp(columns_.pad_begin + columns_.input, begin, width);
    std::fill_n(to, begin * pixel_, 0.0f);
    std::fill_n(to + end * pixel_, (width - end) * pixel_, 0.0f);
    if (image_is_blocked_) {
      std::copy_n(x, (end - begin) * pixel_, to + begin * pixel_);
      return;
    }
    for (int64_t c = 0; c < pixel_ && x != nullptr; ++c) {
      for (int64_t i = begin; i < end; ++i) to[i * pixel_ + c] = x[c * plane + i - begin];
    }
  }

  // Adds up the sums of all threads for one output channel, and its bias.
  void finish(const KernelArgs& args, float* scratch, int64_t m) const {
    const int64_t taps = conv_.taps(), at = m / block_, lane = m % block_;
    float* dw = args.output(0) + m * conv_.in_channels * taps;
    for (int64_t c = 0; c < conv_.in_channels; ++c) {
      const int64_t first = (at * in_blocks_ + c / pixel_) * pair_floats() + c % pixel_ * block_;
      for (int64_t tap = 0; tap < taps; ++tap) {
        float sum = 0;
        for (int64_t p = 0; p < parts_; ++p) {
          sum += part_at(scratch, p).sums[first + tap * pixel_ * block_ + lane];
        }
        *dw++ = sum;
      }
    }
    if (args.outputs.size() == 1) return;
    float bias = 0;
    for (int64_t p = 0; p < parts_; ++p) bias += part_at(scratch, p).bias[m];
    args.output(1)[m] = bias;
  }

  const ops::Convolution conv_;
  const ops::WindowAxis rows_, columns_;
  const int64_t block_;
  const bool image_is_blocked_;
  const int64_t pixel_;  // floats from one pixel of the copy to the next
  const int64_t in_blocks_, out_blocks_;
  int64_t chunk_images_, chunk_rows_, chunks_of_image_, chunks_;
  int64_t parts_;
  int64_t elements_;  // of a tile, at most
};

std::unique_ptr<Kernel> make_sums(const KernelSpec& spec) {
  const bool fits = spec.all_of_type(DType::kF32) && spec.shape(1)[4] == block_size() &&
                    spec.node.integer("group", 1) == 1;
  if (!fits) return nullptr;
  return std::make_unique<WeightsBackwardKernel>(spec);
}

}  // namespace

std::vector<Provider> conv_weights_backward_kernels() {
  return {{&blocked_conv_weights_backward, "sums", make_sums}};
}

}  // namespace shoal::cpu
