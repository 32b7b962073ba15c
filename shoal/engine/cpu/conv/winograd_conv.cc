// BlockedConv with 3x3 and 5x5 windows of stride 1 by Winograd's transforms (conv_loops.h), in
// three phases per chunk of tiles:
//   1. V = B^T d B for every tile and block of input channels;
//   2. for each of the (m + r - 1)^2 points, a matrix product [tiles x in] * [in x out] with the
//      transformed filters, by the register block of conv_loops.h with one tap;
//   3. Y = A^T Z A for every tile and block of output channels, with bias, residual and activation.
// A chunk is as many tiles as fit into the second-level cache between the phases. The filters are
// transformed once; they are (m + r - 1)^2 / r^2 times as large as before (1.8, 4 and 7.1 for r = 3
// and m = 2, 4 and 6), and reading them limits layers of many channels and few pixels.
#include <algorithm>
#include <array>
#include <limits>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/conv/filters.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"

namespace shoal::cpu {
namespace {

// Floats of transformed tiles that a thread works on at a time: 512 KB, in its second-level cache
// together with a panel of filters.
constexpr int64_t kChunkFloats = int64_t{128} << 10;
// Filters of many channels do not stay in any cache. At least this many tiles share each read.
constexpr int64_t kFewTiles = 28;

constexpr int64_t kLineFloats = 16;

class WinogradKernel : public RectangleKernel {
 public:
  WinogradKernel(const KernelSpec& spec, int m)
      : spec_(spec),
        tile_{m, static_cast<int>(spec_.rows().kernel)},
        points_(tile_.points()),
        tile_rows_(ceil_div(spec_.rows().output, m)),
        tile_columns_(ceil_div(spec_.columns().output, m)),
        tiles_(spec_.conv.batch * tile_rows_ * tile_columns_),
        threads_(spec.pool.threads()),
        work_(choose_work()),
        blocks_(out_blocks_of(spec_.conv.out_channels)),
        size_(choose_tile(tile_sizes(), ceil_div(tiles_, work_.chunks),
                          std::max<int64_t>(blocks_.whole, 1))),
        chunk_tiles_(round_up(ceil_div(tiles_, work_.chunks), size_.pixels)),
        functions_(conv_tile_functions(size_.pixels, spec_.block)),
        panels_({spec_.conv.out_channels, spec_.in_channels, spec_.block, 1, size_.blocks}),
        filters_(spec, form(), points_ * panels_.floats(), spec_.out_blocks, packing()) {}

  void run(const KernelArgs& args) const override { run_tiles(args, {}); }

  int64_t granule() const override { return tile_.m; }
  // Tiles begin where a rectangle does, so that none has more of them than it needs.
  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    std::vector<Tile> tiles;
    for (int64_t image = 0; image < spec_.conv.batch; ++image) {
      for (const auto& [rows, columns] : where) {
        for (int64_t row = rows.begin; row < rows.end; row += tile_.m) {
          for (int64_t column = columns.begin; column < columns.end; column += tile_.m) {
            tiles.push_back({image, row, column, rows.end, columns.end});
          }
        }
      }
    }
    if (!tiles.empty()) run_tiles(args, tiles);
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(filters_.scratch_floats() +
                               chunk_floats() * (work_.chunks_apart ? threads_ : 1)) *
           sizeof(float);
  }

 private:
  // Place of a tile in the output, and where what is written of it ends.
  struct Tile {
    int64_t image, row, column;
    int64_t row_end, column_end;
  };

  // All tiles if none are listed.
  void run_tiles(const KernelArgs& args, std::span<const Tile> listed) const {
    auto* memory = reinterpret_cast<float*>(args.scratch);
    const Filters::View filters = filters_.view(args, memory, packing());
    float* scratch = memory + filters_.scratch_floats();
    const int64_t chunks = ceil_div(listed.empty() ? tiles_ : std::ssize(listed), chunk_tiles_);
    if (work_.chunks_apart) {
      args.pool.parallel_for(chunks, [&](int64_t chunk, int slot) {
        const Chunk c = chunk_at(chunk, listed, filters, scratch + slot * chunk_floats());
        transform_tiles(args, c, 0, c.tiles * spec_.in_blocks);
        multiply(c, 0, points_);
        finish_tiles(args, c, 0, c.tiles * spec_.out_blocks);
      });
      return;
    }
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const Chunk c = chunk_at(chunk, listed, filters, scratch);
      args.pool.parallel_ranges(c.tiles * spec_.in_blocks, 8, [&](int64_t begin, int64_t end) {
        transform_tiles(args, c, begin, end);
      });
      args.pool.parallel_ranges(points_, 1,
                                [&](int64_t begin, int64_t end) { multiply(c, begin, end); });
      args.pool.parallel_ranges(c.tiles * spec_.out_blocks, 8, [&](int64_t begin, int64_t end) {
        finish_tiles(args, c, begin, end);
      });
    }
  }

  // Some tiles, counted over all images, on their way through the transforms.
  struct Chunk {
    int64_t first, tiles;
    std::span<const Tile> listed;  // which they are, if not all tiles are computed
    Filters::View filters;
    float* x;  // [point][block of input channels][chunk_tiles_][b]
    float* y;  // [point][block of output channels][chunk_tiles_][b]
  };

  // Floats from one point of the transform to the next: an odd number of cache lines, so that the
  // points of one tile, which are written together, do not fall into the same few cache sets.
  int64_t point_in() const { return spec_.in_blocks * chunk_tiles_ * spec_.block | kLineFloats; }
  int64_t point_out() const { return spec_.out_blocks * chunk_tiles_ * spec_.block | kLineFloats; }
  int64_t chunk_floats() const { return points_ * (point_in() + point_out()); }

  // Each thread has its own chunks if there are enough of them. Otherwise all threads work on one
  // larger chunk together, with a barrier between phases.
  struct Work {
    bool chunks_apart;
    int64_t chunks;
  };
  Work choose_work() const {
    constexpr int64_t kChunksPerThread = 8;
    const int64_t tile_floats = points_ * (spec_.in_blocks + spec_.out_blocks) * spec_.block;
    const int64_t wanted = std::max(kChunkFloats / tile_floats, kFewTiles);
    const int64_t chunks = ceil_div(tiles_, wanted);
    if (threads_ == 1 || chunks >= kChunksPerThread * threads_) return {true, chunks};
    return {false, ceil_div(tiles_, wanted * threads_)};
  }

  PackedForm form() const {
    return {"winograd",
            {tile_.m, tile_.r, spec_.conv.out_channels, spec_.in_channels, spec_.block,
             size_.blocks, blocks_.narrow}};
  }

  Filters::Pack packing() const {
    return [this](const float* w, ThreadPool& pool, float* to) {
      pool.parallel_ranges(panels_.panels(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t panel = begin; panel < end; ++panel) {
          pack_panel(w, panel, to + panels_.place(panel));
        }
      });
    };
  }

  // [point][panel][input channel][block of the panel][b], as FilterPanels with one tap.
  void pack_panel(const float* w, int64_t panel, float* to) const {
    constexpr int64_t kMostTaps = 25, kMostLanes = 64;
    const int64_t in = spec_.in_channels, block = spec_.block, taps = tile_.r * tile_.r;
    for (int64_t c = 0; c < in; ++c) {
      for (int64_t b = 0; b < panels_.blocks_of(panel); ++b, to += block) {
        alignas(64) std::array<float, kMostTaps * kMostLanes> filters{};
        for (int64_t lane = 0; lane < block; ++lane) {
          const int64_t m = (panels_.first_block(panel) + b) * block + lane;
          if (m >= spec_.conv.out_channels) break;
          for (int64_t tap = 0; tap < taps; ++tap) {
            filters[static_cast<size_t>(tap * block + lane)] = w[(m * in + c) * taps + tap];
          }
        }
        winograd_filters(tile_, filters.data(), to, panels_.floats());
      }
    }
  }

  Chunk chunk_at(int64_t chunk, std::span<const Tile> listed, const Filters::View& filters,
                 float* scratch) const {
    const int64_t first = chunk * chunk_tiles_;
    const int64_t all = listed.empty() ? tiles_ : std::ssize(listed);
    return {first,   std::min(chunk_tiles_, all - first), listed, filters,
            scratch, scratch + points_ * point_in()};
  }

  Tile tile_at(const Chunk& chunk, int64_t place) const {
    const int64_t index = chunk.first + place;
    if (!chunk.listed.empty()) return chunk.listed[static_cast<size_t>(index)];
    const int64_t per_image = tile_rows_ * tile_columns_, in_image = index % per_image;
    return {index / per_image, in_image / tile_columns_ * tile_.m,
            in_image % tile_columns_ * tile_.m, spec_.rows().output, spec_.columns().output};
  }

  // [begin, end) counts the blocks of input channels of all tiles of the chunk.
  void transform_tiles(const KernelArgs& args, const Chunk& chunk, int64_t begin,
                       int64_t end) const {
    const ops::WindowAxis &rows = spec_.rows(), &columns = spec_.columns();
    const int64_t block = spec_.block, edge = tile_.edge();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t t = i / spec_.in_blocks, b = i % spec_.in_blocks;
      const Tile tile = tile_at(chunk, t);
      const int64_t row = tile.row - rows.pad_begin, column = tile.column - columns.pad_begin;
      const int64_t plane = (tile.image * spec_.in_blocks + b) * spec_.conv.input_plane();
      const auto inside = [&](int64_t at) {
        return static_cast<int>(std::clamp<int64_t>(at, 0, edge));
      };
      WinogradInput input;
      input.x = args.input(0) + plane * block;
      input.offset = (row * columns.input + column) * block;
      input.row_stride = columns.input * block;
      input.row_begin = inside(-row);
      input.row_end = inside(rows.input - row);
      input.column_begin = inside(-column);
      input.column_end = inside(columns.input - column);
      winograd_input(tile_, input, chunk.x + (b * chunk_tiles_ + t) * block, point_in());
    }
  }

  void multiply(const Chunk& chunk, int64_t point, int64_t point_end) const {
    ConvTile tile;
    tile.x_block = tile.y_block = chunk_tiles_ * spec_.block;
    tile.y_pixel = spec_.block;
    tile.in_blocks = spec_.in_blocks;
    tile.full_channels = spec_.block;
    tile.last_channels = spec_.in_channels - (spec_.in_blocks - 1) * spec_.block;
    for (; point < point_end; ++point) {
      const float* x = chunk.x + point * point_in();
      for (int64_t panel = 0; panel < panels_.panels(); ++panel) {
        const ConvTileFunction convolve = panels_.function_of(panel, functions_);
        float* y = chunk.y + point * point_out() + panels_.first_block(panel) * tile.y_block;
        tile.w = chunk.filters.packed + point * panels_.floats() + panels_.place(panel);
        for (int64_t i = 0; i < chunk.tiles; i += size_.pixels) {
          // If the chunk is not full, the last tiles are stale elements of an earlier chunk, whose
          // results are never read.
          const int64_t t = i * spec_.block;
          tile.x = x + t;
          tile.y = y + t;
          convolve(tile, spec_.block);
        }
      }
    }
  }

  // [begin, end) counts the blocks of output channels of all tiles of the chunk.
  void finish_tiles(const KernelArgs& args, const Chunk& chunk, int64_t begin, int64_t end) const {
    const int64_t columns = spec_.columns().output, block = spec_.block;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t t = i / spec_.out_blocks, b = i % spec_.out_blocks;
      const Tile tile = tile_at(chunk, t);
      const int64_t plane = (tile.image * spec_.out_blocks + b) * spec_.conv.output_plane();
      const int64_t at = (plane + tile.row * columns + tile.column) * block;
      WinogradOutput output;
      output.y = args.output(0) + at;
      output.addend = args.has(3) ? args.input(3) + at : nullptr;
      output.row_stride = columns * block;
      output.rows = static_cast<int>(std::min<int64_t>(tile_.m, tile.row_end - tile.row));
      output.columns = static_cast<int>(std::min<int64_t>(tile_.m, tile.column_end - tile.column));
      output.bias = chunk.filters.bias + b * block;
      output.finish = spec_.epilogue.finish(b);
      winograd_output(tile_, chunk.y + (b * chunk_tiles_ + t) * block, point_out(), output);
      apply_pass(output);
    }
  }

  void apply_pass(const WinogradOutput& output) const {
    const Function& pass = spec_.epilogue.pass;
    if (pass.loop == nullptr) return;
    for (int r = 0; r < output.rows; ++r) {
      float* y = output.y + r * output.row_stride;
      pass(y, y, output.columns * spec_.block);
    }
  }

  const BlockedSpec spec_;
  const WinogradSize tile_;
  const int points_;
  const int64_t tile_rows_, tile_columns_, tiles_;
  const int threads_;
  const Work work_;
  const OutBlocks blocks_;
  const TileSize size_;  // of the products: "pixels" are tiles
  const int64_t chunk_tiles_;
  const ConvTileFunctions functions_;
  const FilterPanels panels_;  // of one point
  const Filters filters_;      // [point], panels of each
};

// The window's edge if it is of the kind above; 0 if not.
int window_of(const ops::Convolution& conv) {
  const ops::WindowAxis &rows = conv.window.axes[1], &columns = conv.window.axes[2];
  const auto is_dense = [](const ops::WindowAxis& axis) {
    return axis.stride == 1 && axis.dilation == 1;
  };
  const bool known = rows.kernel == 3 || rows.kernel == 5;
  const bool fits = known && rows.kernel == columns.kernel && is_dense(rows) && is_dense(columns);
  return fits ? static_cast<int>(rows.kernel) : 0;
}

bool fits_winograd(const KernelSpec& spec) {
  if (!has_kernel_types(spec) || spec.node.integer("group", 1) != 1) return false;
  const ops::Convolution conv = blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1));
  // With fewer channels the transforms take longer than the products they save.
  const bool many = 2 * conv.in_channels >= block_size();
  return spec.shape(0).rank() == 5 && many && window_of(conv) != 0;
}

// The largest tile multiplies the memory of 3x3 filters by 7. On many channels its saving is not
// worth that.
constexpr int kLargestEdge = 8;
constexpr int64_t kMostLargeFilters = 128 * 256;

template <int m>
bool fits(const KernelSpec& spec) {
  if (spec.memory != Memory::kPlenty || !fits_winograd(spec)) return false;
  const ops::Convolution conv = blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1));
  const WinogradSize tile{m, window_of(conv)};
  return tile.edge() < kLargestEdge ||
         (tile.edge() == kLargestEdge && conv.in_channels * conv.out_channels <= kMostLargeFilters);
}

template <int m>
double cost(const KernelSpec& spec) {
  if (!fits<m>(spec)) return std::numeric_limits<double>::infinity();
  const ops::Convolution conv = blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1));
  const auto in = static_cast<double>(conv.in_channels),
             out = static_cast<double>(conv.out_channels);
  const auto tiles = static_cast<double>(conv.batch * ceil_div(conv.window.axes[1].output, m) *
                                         ceil_div(conv.window.axes[2].output, m));
  // Measured in multiply-accumulates: transforming one element, and reading one element of a
  // filter.
  constexpr double kTransform = 12, kRead = 6;
  // Per point: the products, the transforms of input and output, and one pass over the filters.
  return WinogradSize{m, window_of(conv)}.points() *
         (tiles * (in * out + kTransform * (in + out)) + kRead * in * out);
}

template <int m>
std::unique_ptr<Kernel> make_winograd(const KernelSpec& spec) {
  return fits<m>(spec) ? std::make_unique<WinogradKernel>(spec, m) : nullptr;
}

}  // namespace

std::vector<Provider> winograd_conv_kernels() {
  return {{&blocked_conv, "winograd2", make_winograd<2>, cost<2>},
          {&blocked_conv, "winograd4", make_winograd<4>, cost<4>},
          {&blocked_conv, "winograd6", make_winograd<6>, cost<6>}};
}

}  // namespace shoal::cpu
