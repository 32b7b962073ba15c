// BlockedQLinearConv by its definition, as direct_conv.cc does for floats: chunks of rows stay in
// the second-level cache, panels of weights stream by, tiles of byte_loops.h are computed. Signed
// images are copied with their sign bit flipped, because dot products take u8 by i8.
#include <algorithm>
#include <array>
#include <cstring>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/conv_loops/direct_rows.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/quantized/byte_loops.h"
#include "shoal/engine/cpu/quantized/quantized_spec.h"

namespace shoal::cpu {
namespace {

using In = QConvInputs;

// Bytes of the image that a thread works on at a time; with a panel of weights they fit into a
// second-level cache.
constexpr int64_t kChunkBytes = int64_t{128} << 10;

// Weights in the order in which tiles read them:
//   [panel][block of input channels][tap][group of input channels][block of the panel][b * group]
// with zeros for channels that do not exist. A group larger than a block takes several of them.
class ByteFilters {
 public:
  ByteFilters(const QuantizedSpec& spec, int64_t pixel, int64_t panel_blocks,
              const ByteTiles& tiles, ThreadPool& pool)
      : spec_(spec),
        group_(tiles.group),
        channels_(round_up(spec.in_channels, group_)),
        pixel_(std::min(std::max(pixel, group_), channels_)),
        channels_first_(tiles.channels_first),
        panel_blocks_(panel_blocks),
        block_bytes_(channels_ * spec.conv.taps() * spec.block),
        bytes_((spec.out_blocks * block_bytes_ + 3) / 4) {
    pool.parallel_ranges(panels(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) pack(i, data() + i * panel_blocks_ * block_bytes_);
    });
  }

  int64_t panels() const { return (spec_.out_blocks + panel_blocks_ - 1) / panel_blocks_; }
  int64_t first_block(int64_t panel) const { return panel * panel_blocks_; }
  int64_t blocks_of(int64_t panel) const {
    return std::min(panel_blocks_, spec_.out_blocks - panel * panel_blocks_);
  }
  const int8_t* panel(int64_t i) const {
    return reinterpret_cast<const int8_t*>(bytes_.data()) + i * panel_blocks_ * block_bytes_;
  }

 private:
  int8_t* data() { return reinterpret_cast<int8_t*>(bytes_.data()); }

  void pack(int64_t panel, int8_t* to) const {
    const int64_t first = first_block(panel), blocks = blocks_of(panel);
    for (int64_t c0 = 0; c0 < spec_.in_channels; c0 += pixel_) {
      const int64_t c1 = std::min(c0 + pixel_, spec_.in_channels);
      for (int64_t tap = 0; tap < spec_.conv.taps(); ++tap) {
        for (int64_t c = c0; c < c1; c += group_) {
          for (int64_t b = first; b < first + blocks; ++b, to += group_ * spec_.block) {
            pack_group(b * spec_.block, c, tap, to);
          }
        }
      }
    }
  }

  void pack_group(int64_t m0, int64_t c0, int64_t tap, int8_t* to) const {
    const int64_t taps = spec_.conv.taps(), block = spec_.block;
    for (int64_t m = 0; m < block; ++m) {
      for (int64_t c = 0; c < group_; ++c) {
        const bool is_there = m0 + m < spec_.conv.out_channels && c0 + c < spec_.in_channels;
        const int8_t w = is_there
                             ? spec_.weights[((m0 + m) * spec_.in_channels + c0 + c) * taps + tap]
                             : int8_t{0};
        to[channels_first_ ? m * group_ + c : c * block + m] = w;
      }
    }
  }

  const QuantizedSpec& spec_;
  const int64_t group_;
  const int64_t channels_;  // in whole groups
  const int64_t pixel_;     // channels that lie together
  const bool channels_first_;
  const int64_t panel_blocks_;
  const int64_t block_bytes_;  // that one block of output channels takes
  AlignedFloats bytes_;        // four in each
};

class DirectQuantizedKernel : public Kernel {
 public:
  DirectQuantizedKernel(const KernelSpec& spec, const ByteTiles& tiles)
      : spec_(spec),
        tiles_(tiles),
        pixel_(spec_.image_is_blocked ? spec_.block : kGroup),
        rows_(spec_.conv, spec_.in_channels, pixel_, spec_.image_is_blocked, spec_.x_flip != 0),
        tile_(choose_tile(tiles_.sizes, rows_.row_length(), spec_.out_blocks)),
        filters_(spec_, pixel_, tile_.blocks, tiles_, spec.pool),
        threads_(spec.pool.threads()) {
    spec_.fold_zero_point(tiles_.pixel_offset);  // reads the weights once more
    spec.constant(In::kW)->release_pages();
    rows_.share(spec_.conv.batch, filters_.panels(), tile_.pixels, kChunkBytes, threads_);
    for (int64_t blocks = 1; blocks <= tile_.blocks; ++blocks) {
      functions_[static_cast<size_t>(blocks)] =
          tiles_.function({tile_.pixels, blocks}, rows_.step());
    }
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<uint8_t*>(args.scratch);
    const int64_t parts = rows_.parts_of_image();
    args.pool.parallel_for(spec_.conv.batch * parts, [&](int64_t index, int slot) {
      run_part(args, index / parts, index % parts, scratch + slot * rows_.copied_elements());
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(rows_.copied_elements() * threads_);
  }

 private:
  void run_part(const KernelArgs& args, int64_t image, int64_t part, uint8_t* scratch) const {
    const uint8_t* x = bytes_of(args.inputs[In::kX]) + image * spec_.input_image();
    int64_t described = -1;
    ByteTile tile;
    rows_.for_each_row(
        x, part, static_cast<uint8_t>(spec_.x_zero), scratch, ByteCopier{spec_.x_flip},
        [&](int64_t panel, const uint8_t* row, int64_t y, int64_t begin, int64_t end) {
          if (panel != described) tile = describe(described = panel);
          const int64_t to = image * spec_.output_image() +
                             filters_.first_block(panel) * tile.y_block +
                             y * rows_.row_length() * spec_.block;
          run_row(args, tile, row, to, begin, end);
        });
  }

  // Pixels [begin, end) of a row that starts at `x` and at `at` of the output.
  void run_row(const KernelArgs& args, ByteTile& tile, const uint8_t* x, int64_t at, int64_t begin,
               int64_t end) const {
    uint8_t* y = bytes_of(args.outputs[0]);
    const uint8_t* residual =
        args.has(In::kResidual) ? bytes_of(args.inputs[In::kResidual]) : nullptr;
    for (int64_t i = begin; i < end; i += tile_.pixels) {
      // The last tile of the row computes some pixels a second time: no tile is partial.
      const int64_t pixel = std::min(i, rows_.row_length() - tile_.pixels);
      const int64_t to = at + pixel * spec_.block;
      tile.x = x + pixel * rows_.step();
      tile.y = y + to;
      tile.residual = residual == nullptr ? nullptr : residual + to;
      functions_[static_cast<size_t>(tile.out_blocks)](tile, rows_.step());
    }
  }

  // Everything in a tile that does not depend on its place.
  ByteTile describe(int64_t panel) const {
    const ops::WindowAxis &rows = spec_.conv.window.axes[1], &columns = spec_.conv.window.axes[2];
    const auto channel = filters_.first_block(panel) * spec_.block;
    ByteTile tile;
    tile.x_block = rows_.block_elements();
    tile.x_row = rows_.tap_row();
    tile.x_column = rows_.tap_column();
    tile.in_blocks = spec_.image_is_blocked ? spec_.in_blocks : 1;
    tile.full_groups = pixel_ / kGroup;
    const int64_t last = spec_.in_channels - (tile.in_blocks - 1) * pixel_;
    tile.last_groups = (last + kGroup - 1) / kGroup;
    tile.tap_rows = rows.kernel;
    tile.tap_columns = columns.kernel;
    tile.w = filters_.panel(panel);
    tile.bias = spec_.bias.data() + channel;
    tile.scale = spec_.scales.data() + channel;
    tile.out_blocks = filters_.blocks_of(panel);
    tile.y_block = spec_.conv.output_plane() * spec_.block;
    tile.finish = spec_.finish;
    return tile;
  }

  QuantizedSpec spec_;
  const ByteTiles tiles_;
  const int64_t pixel_;  // bytes from one pixel to the next, as tiles see them
  DirectRows<uint8_t> rows_;
  const TileSize tile_;
  const ByteFilters filters_;
  const int threads_;
  std::array<ByteTileFunction, kMostTileBlocks + 1> functions_{};  // by blocks of the tile
};

template <ByteDot dot>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  const ByteTiles tiles = byte_tiles(dot);
  // Half of a group of eight would be zeros if there are no more than four channels.
  const bool fits = !tiles.sizes.empty() && spec.node.integer("group", 1) == 1 &&
                    tiles.group <= round_up(spec.shape(In::kW)[1], kGroup) &&
                    has_plain_weights(spec.inputs);
  return fits ? std::make_unique<DirectQuantizedKernel>(spec, tiles) : nullptr;
}

}  // namespace

std::vector<Provider> direct_q_linear_conv_kernels() {
  return {{&blocked_q_linear_conv, "direct_octets", make<ByteDot::kOctets>},
          {&blocked_q_linear_conv, "direct_quads", make<ByteDot::kQuads>},
          {&blocked_q_linear_conv, "direct_pairs", make<ByteDot::kPairs>}};
}

}  // namespace shoal::cpu
