// The inner loops of convolutions, each compiled once per instruction set: tiles of the blocked
// layout (NCHWc, blocked.h), depthwise rows, gathering of columns (im2col), weight gradients and
// Winograd's transforms.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/product/product.h"
#include "shoal/engine/cpu/rectangle.h"
#include "shoal/model/ops/window.h"

namespace shoal::cpu {

// Finish: what kernels of the blocked layout apply to sums in registers before storing them. Other
// activations are a pass over the stored elements.
// y = clamp(max(x, slope x), low, high). Each has one element per channel, in blocks.
struct Finish {
  const float* slope = nullptr;                 // null: 1
  const float *low = nullptr, *high = nullptr;  // null: no bounds
};

// ImageColumns: the right factor of a convolution as a matrix product (im2col), one column per
// output element, one row per tap and input channel. It is gathered panel by panel from the image
// and never exists as a whole, because it is taps() times as large.

// Geometry of a convolution, computed once for all images of a node.
struct ImageGeometry {
  explicit ImageGeometry(const ops::Window& window);

  ops::Window window;
  std::vector<ops::Range> columns;  // by tap of the last axis: the outputs it lies in the image for
};

// Consecutive outputs in one row.
struct OutputRun {
  int64_t length;
  int64_t depth, row, column;  // of the first
};

// Cuts the outputs [j, j_end) at the ends of rows. REQUIRES: `runs` has at least j_end - j
// elements.
std::span<const OutputRun> cut_into_runs(const ops::Window& window, int64_t j, int64_t j_end,
                                         std::span<OutputRun> runs);

class ImageColumns : public RightFactor {
 public:
  // x is the channels of one image and group, [channels, depth, rows, columns]. Geometry and x must
  // outlive this.
  ImageColumns(const ImageGeometry& geometry, const float* x, int64_t channels);
  void pack(int64_t k, int64_t k_end, int64_t j, int64_t j_end, float* panels) const override;

 private:
  const ImageGeometry& geometry_;
  const float* x_;
  const float* x_end_;
};

// Fills rows [k, k_end) of one panel whose columns are the outputs in `runs`, followed by zeros.
// Stores whole vectors, and so writes up to kPanelSlack floats beyond the end.
void gather(const ImageGeometry& geometry, std::span<const float> x,
            std::span<const OutputRun> runs, int64_t k, int64_t k_end, float* panel);

// Depthwise convolution in the plain layout: one channel with one filter. There is too little to
// multiply for a matrix product.

// One plane: y = clamp(conv(x, w) + bias + addend, low, high).
struct Depthwise {
  const ops::Window* window = nullptr;
  const float* x = nullptr;  // [depth, rows, columns]
  const float* w = nullptr;  // the taps
  float bias = 0;
  const float* addend = nullptr;  // like y; null: none
  float low = 0, high = 0;        // the result is clamped to
  float* y = nullptr;
};

void convolve_plane(const Depthwise& depthwise);

// Windows that slide over one block of channels (NCHWc, blocked.h) with every channel by itself, as
// in depthwise convolutions and pools. One pixel is one vector, so strides and borders need no
// shuffles.

// A rectangle of one block of one image.
struct BlockedRows {
  const ops::WindowAxis* rows = nullptr;
  const ops::WindowAxis* columns = nullptr;
  const float* x = nullptr;  // the whole block: [rows][columns][b]
  float* y = nullptr;        // the whole block
  Rectangle where = {};      // of y, that is computed
};

// Filter of one block, and the epilogue: y = pass(finish(sum + bias + addend)).
struct BlockedFilter {
  const float* w = nullptr;       // [taps][b]
  const float* bias = nullptr;    // [b]
  const float* addend = nullptr;  // laid out as y; null: none
  Finish finish;
  Function pass;
};

// Thread-safe for disjoint rectangles. REQUIRES: b is block_size().
void convolve_rows(const BlockedRows& rows, const BlockedFilter& filter);
// Pools use `line`, which holds a line of the image and belongs to the caller.
void max_rows(const BlockedRows& rows, float* line);  // a NaN wins
void sum_rows(const BlockedRows& rows, float* line);

// The innermost loop of convolutions in the blocked layout (NCHWc, blocked.h): a few pixels of a
// row by a few blocks of output channels are accumulated in registers over all taps and input
// channels. Products in the Winograd domain are the same loop with one tap.

// Channels in a block: the number of floats in a vector of the instruction set in use.
int64_t block_size();

// Register block: `pixels` x `blocks` accumulators fill the registers. Tiles of fewer blocks exist
// too, for the last output channels.
struct TileSize {
  int64_t pixels = 0;
  int64_t blocks = 0;
};
inline constexpr int64_t kMostTileBlocks = 4;
std::span<const TileSize> tile_sizes();  // the last is of one pixel, which fits everywhere

// The size with the lowest estimated time for `length` pixels in a row by `blocks` blocks of
// channels. REQUIRES: length > 0, blocks > 0, and a size of one pixel.
TileSize choose_tile(std::span<const TileSize> sizes, int64_t length, int64_t blocks);

// Blocks of output channels. The last block is narrow if half a vector holds its channels and tiles
// for half a vector are faster.
struct OutBlocks {
  int64_t whole = 0, narrow = 0;
};
OutBlocks out_blocks_of(int64_t channels);

// Addresses and strides of one tile, in floats. Input channels come in blocks of `full_channels`;
// the last block has `last_channels`.
struct ConvTile {
  const float* x = nullptr;   // of the first pixel and tap
  int64_t x_block = 0;        // from one block of input channels to the next
  int64_t x_row = 0;          // from one row of taps to the next
  int64_t x_column = 0;       // from one tap to the next
  int64_t in_blocks = 0;      // blocks of input channels
  int64_t last_channels = 0;  // channels in the last of them
  int64_t full_channels = 0;  // channels in the others
  int64_t tap_rows = 1, tap_columns = 1;

  const float* w = nullptr;       // a panel of filters.h
  const float* bias = nullptr;    // [out_blocks][b]; null: none
  int64_t out_blocks = 0;         // of the tile
  const float* addend = nullptr;  // laid out as y; null: none
  float* y = nullptr;
  int64_t y_block = 0;  // from one block of output channels to the next
  int64_t y_pixel = 0;  // from one pixel to the next
  Finish finish;        // of out_blocks
};

// Computes a tile. `step` is the distance in floats from one pixel of x to the next, and is also
// passed to the function: some steps are compiled in.
using ConvTileFunction = void (*)(const ConvTile& tile, int64_t step);

// Functions of all tiles of one number of pixels in a row.
struct ConvTileFunctions {
  std::array<ConvTileFunction, kMostTileBlocks + 1> whole{};  // by blocks
  ConvTileFunction narrow = nullptr;                          // of a narrow block
};
// REQUIRES: one of tile_sizes() has this number of pixels.
ConvTileFunctions conv_tile_functions(int64_t pixels, int64_t step);

// The innermost loop of convolutions from blocked channels (blocked.h) to a few plain ones. Lanes
// are input channels: a register accumulates one pixel of one output channel, and its lanes are
// added at the end. With lanes as output channels, most of a vector would be padding.

// Addresses and strides of one tile, in floats.
struct DotTile {
  const float* x = nullptr;  // of the first pixel and tap
  int64_t x_pixel = 0;       // from one pixel to the next
  int64_t x_block = 0;       // from one block of input channels to the next
  int64_t x_row = 0;         // from one row of taps to the next
  int64_t x_column = 0;      // from one tap to the next
  int64_t in_blocks = 0, tap_rows = 1, tap_columns = 1;

  const float* w = nullptr;       // [in_blocks][tap_rows][tap_columns][channels][b]
  const float* bias = nullptr;    // [channels]
  const float* addend = nullptr;  // laid out as y; null: none
  float* y = nullptr;
  int64_t y_channel = 0;  // from one output channel to the next; pixels are side by side
  float low = 0, high = 0;
};

// A tile of `pixels` in a row by all output channels. `run` is null if there are too many channels.
struct DotTileFunction {
  int64_t pixels = 0;
  void (*run)(const DotTile& tile) = nullptr;
};

// The largest tile for rows of at least `length` pixels.
DotTileFunction dot_tile_function(int64_t channels, int64_t length);

// The innermost loop of grouped convolutions with a few channels per group, as many in as out,
// several groups to a block (blocked.h). The lanes of a pixel are permuted so that each lane meets
// the channels of its own group: as many products as a group has channels, and no multiplications
// by the zeros of a block-diagonal weight matrix.

// Addresses and strides of one tile, some pixels in a row of one block, in floats.
struct GroupTile {
  const float* x = nullptr;  // of the first pixel and tap
  int64_t x_pixel = 0;       // from one pixel to the next
  int64_t x_row = 0;         // from one row of taps to the next
  int64_t x_column = 0;      // from one tap to the next
  int64_t tap_rows = 1, tap_columns = 1;

  const float* w = nullptr;       // [tap_rows][tap_columns][channels of a group][b]
  const float* bias = nullptr;    // [b]
  const float* addend = nullptr;  // laid out as y; null: none
  float* y = nullptr;             // pixels are side by side
  Finish finish;
};

// A tile of `pixels` in a row. `run` is null if a block does not hold several groups of that size.
struct GroupTileFunction {
  int64_t pixels = 0;
  void (*run)(const GroupTile& tile) = nullptr;
};

// The largest tile for groups of `channels` and rows of at least `length` pixels.
GroupTileFunction group_tile_function(int64_t channels, int64_t length);

// The innermost loop of the gradient of convolution weights in the blocked layout (blocked.h): a
// few consecutive elements of the image by one block of channels of dy, accumulated over all pixels
// of some rows. Each of these sums is a register.

// Addresses and strides of one tile, in floats.
struct WeightsTile {
  const float* x = nullptr;  // first element that the first pixel of dy meets
  int64_t x_image = 0, x_row = 0, x_pixel = 0;
  const float* dy = nullptr;  // [images][rows][pixels][b], but for gaps
  int64_t dy_image = 0, dy_row = 0;
  int64_t images = 0, rows = 0, pixels = 0;
  float* sums = nullptr;  // [elements][b], accumulated
};

// The tile for a number of elements. REQUIRES: 1 <= elements <= most_elements().
using WeightsTileFunction = void (*)(const WeightsTile& tile);
WeightsTileFunction weights_tile_function(int64_t elements);
int64_t most_elements();

// sum += dy * x over `pixels` pixels of one block, those of x `step` floats apart. sum is [b].
void add_products(const float* x, int64_t step, const float* dy, int64_t pixels, float* sum);

// sum += dy over `pixels` consecutive pixels of one block. sum is [b].
void add_pixels(const float* dy, int64_t pixels, float* sum);

// Winograd's minimal filtering for windows of r x r and stride 1: an output tile of m x m pixels
// costs (m + r - 1)^2 products per pair of channels instead of r^2 m^2. Images, filters and results
// go through small linear transforms, all of them in the blocked layout (blocked.h): one pixel is
// one vector.

// REQUIRES: r is 3 and m is 2, 4 or 6; or r is 5 and m is 2 or 4.
struct WinogradSize {
  int m = 0;  // pixels of the output along each axis
  int r = 0;  // of the window
  int edge() const { return m + r - 1; }
  int points() const { return edge() * edge(); }
};

// A tile of edge() x edge() pixels of one block of channels.
struct WinogradInput {
  const float* x = nullptr;  // the block
  int64_t offset = 0;        // of the first pixel; negative if it lies in the padding
  int64_t row_stride = 0;    // floats
  // Rows and columns of the tile that lie in the image; the others are zero.
  int row_begin = 0, row_end = 0, column_begin = 0, column_end = 0;
};

// Element i of the transformed tile, points() of them, goes to v + i * stride. It depends on edge()
// only.
void winograd_input(const WinogradSize& size, const WinogradInput& input, float* v, int64_t stride);

// m x m pixels of one block of output channels.
struct WinogradOutput {
  float* y = nullptr;             // of the first pixel
  const float* addend = nullptr;  // laid out as y; null: none
  int64_t row_stride = 0;         // floats
  int rows = 0, columns = 0;      // that the image has of the tile
  const float* bias = nullptr;    // [b]
  Finish finish;
};

// Element i of the tile is at z + i * stride.
void winograd_output(const WinogradSize& size, const float* z, int64_t stride,
                     const WinogradOutput& output);

// Filters of b output channels for one input channel: g is [r * r][b], element i goes to
// u + i * stride.
void winograd_filters(const WinogradSize& size, const float* g, float* u, int64_t stride);

}  // namespace shoal::cpu
