// UnblockingConv: from blocked channels to a few plain ones, tile by tile (conv_loops.h). It ends a
// network that produces images, whose three channels would waste most of a block. Channels that
// fill up the last input block meet weights of zero.
#include <algorithm>

#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/conv_loops/direct_rows.h"

namespace shoal::cpu {
namespace {

// Floats of the image that a thread works on at a time: 192 KB, for a second-level cache.
constexpr int64_t kChunkFloats = int64_t{48} << 10;

class FewChannelsKernel : public Kernel {
 public:
  explicit FewChannelsKernel(const KernelSpec& spec)
      : conv_(blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1))),
        block_(spec.shape(0)[4]),
        in_blocks_(spec.shape(0)[1]),
        activation_(ops::activation_of(spec.node)),
        rows_(conv_, conv_.in_channels, block_, true, false),
        tile_(dot_tile_function(conv_.out_channels, rows_.row_length())),
        threads_(spec.pool.threads()),
        bias_(blocked_bias(spec, 1, std::max(block_, conv_.out_channels))),
        weights_(in_blocks_ * conv_.taps() * conv_.out_channels * block_) {
    rows_.share(conv_.batch, 1, tile_.pixels, kChunkFloats, threads_);
    pack(spec.constant(1)->data<float>().data());
    spec.constant(1)->release_pages();
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    const int64_t parts = rows_.parts_of_image();
    args.pool.parallel_for(conv_.batch * parts, [&](int64_t index, int slot) {
      run_part(args, index / parts, index % parts, scratch + slot * rows_.copied_elements());
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(rows_.copied_elements() * threads_) * sizeof(float);
  }

 private:
  void pack(const float* w) {
    const int64_t out = conv_.out_channels, taps = conv_.taps();
    std::fill_n(weights_.data(), in_blocks_ * taps * out * block_, 0.0f);
    for (int64_t m = 0; m < out; ++m) {
      for (int64_t c = 0; c < conv_.in_channels; ++c) {
        float* to = weights_.data() + (c / block_ * taps * out + m) * block_ + c % block_;
        for (int64_t tap = 0; tap < taps; ++tap) to[tap * out * block_] = *w++;
      }
    }
  }

  void run_part(const KernelArgs& args, int64_t image, int64_t part, float* scratch) const {
    const float* x = args.input(0) + image * in_blocks_ * conv_.input_plane() * block_;
    const int64_t at = image * conv_.out_channels * conv_.output_plane();
    DotTile tile = describe();
    rows_.for_each_row(x, part, 0.0f, scratch, PlainCopier<float>{block_},
                       [&](int64_t, const float* row, int64_t y, int64_t begin, int64_t end) {
                         run_row(args, tile, row, at + y * rows_.row_length(), begin, end);
                       });
  }

  // Pixels [begin, end) of a row that starts at `x` and at `at` of the output.
  void run_row(const KernelArgs& args, DotTile& tile, const float* x, int64_t at, int64_t begin,
               int64_t end) const {
    for (int64_t i = begin; i < end; i += tile_.pixels) {
      // The last tile of the row computes some pixels a second time: no tile is partial.
      const int64_t pixel = std::min(i, rows_.row_length() - tile_.pixels);
      tile.x = x + pixel * rows_.step();
      tile.y = args.output(0) + at + pixel;
      tile.addend = args.has(3) ? args.input(3) + at + pixel : nullptr;
      tile_.run(tile);
    }
    apply_pass(args.output(0) + at + begin, end - begin);
  }

  // Everything in a tile that does not depend on its place.
  DotTile describe() const {
    DotTile tile;
    tile.x_pixel = rows_.step();
    tile.x_block = rows_.block_elements();
    tile.x_row = rows_.tap_row();
    tile.x_column = rows_.tap_column();
    tile.in_blocks = in_blocks_;
    tile.tap_rows = conv_.window.axes[1].kernel;
    tile.tap_columns = conv_.window.axes[2].kernel;
    tile.w = weights_.data();
    tile.bias = bias_.data();
    tile.y_channel = conv_.output_plane();
    tile.low = activation_.low;
    tile.high = activation_.high;
    return tile;
  }

  void apply_pass(float* y, int64_t pixels) const {
    if (activation_.pass.loop == nullptr) return;
    for (int64_t m = 0; m < conv_.out_channels; ++m, y += conv_.output_plane()) {
      activation_.pass(y, y, pixels);
    }
  }

  const ops::Convolution conv_;
  const int64_t block_, in_blocks_;
  const Epilogue activation_;
  DirectRows<float> rows_;
  const DotTileFunction tile_;
  const int threads_;
  const AlignedFloats bias_;
  AlignedFloats weights_;  // as DotTile says
};

std::unique_ptr<Kernel> make_few_channels(const KernelSpec& spec) {
  if (!has_constant_filters(spec) || spec.node.integer("group", 1) != 1) return nullptr;
  if (dot_tile_function(spec.shape(1)[0], 1).run == nullptr) return nullptr;
  return std::make_unique<FewChannelsKernel>(spec);
}

}  // namespace

std::vector<Provider> few_channels_conv_kernels() {
  return {{&unblocking_conv, "dots", make_few_channels}};
}

}  // namespace shoal::cpu
