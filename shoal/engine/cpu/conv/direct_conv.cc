// BlockedConv by its definition, with s the stride:
//   y[n, m, r, c] = sum over i, kh, kw of x[n, i, r * s + kh, c * s + kw] * w[m, i, kh, kw]
// The register block (conv_loops.h) computes some pixels of a row by some blocks of output channels
// over all taps and input channels. Around it, an image is cut into chunks of rows that stay in the
// second-level cache; for each chunk, one panel of weights after the other meets all its rows.
// Weights are then read from memory once per chunk. Pixels are read in place; only if there is
// padding, or an image of few plain channels, does a thread first copy the rows it works on.
//
// Rectangles of the output are computed in the same way: as many of them as fit into a chunk are
// copied one after the other, and meet a panel of weights together. Tiles end where rectangles do,
// with fewer pixels than in whole rows if that wastes less.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/conv/filters.h"
#include "shoal/engine/cpu/kernel.h"

namespace shoal::cpu {
namespace {

// Floats of the image that a thread works on at a time: 192 KB, which fit into a second-level cache
// with a panel of weights.
constexpr int64_t kChunkFloats = int64_t{48} << 10;
constexpr int64_t kPlainChannels = 4;  // of an image that is not blocked, when copied

class DirectKernel : public RectangleKernel {
 public:
  explicit DirectKernel(const KernelSpec& spec)
      : spec_(spec),
        flat_(is_flat()),
        copies_(!spec_.image_is_blocked || is_padded(spec_.rows()) || is_padded(spec_.columns())),
        pixel_(spec_.image_is_blocked ? spec_.block : kPlainChannels),
        row_length_(flat_ ? spec_.conv.output_plane() : spec_.columns().output),
        output_rows_(flat_ ? 1 : spec_.rows().output),
        blocks_(out_blocks_of(spec_.conv.out_channels)),
        tile_(choose_tile(tile_sizes(), row_length_, std::max<int64_t>(blocks_.whole, 1))),
        functions_(conv_tile_functions(tile_.pixels, spec_.columns().stride * pixel_)),
        threads_(spec.pool.threads()),
        panels_(
            {spec_.conv.out_channels, spec_.in_channels, pixel_, spec_.conv.taps(), tile_.blocks}),
        filters_(spec, form(), panels_.floats(), spec_.out_blocks, packing()) {
    choose_work();
    for (const TileSize& size : tile_sizes()) {
      if (size.blocks < tile_.blocks) continue;  // panels are as wide as they are
      short_tiles_.push_back({size.pixels, tile_.blocks});
    }
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    const Run run{args, filters_.view(args, scratch, packing())};
    float* copies = scratch + filters_.scratch_floats();
    const int64_t per_image = chunks_ * parts_;
    args.pool.parallel_for(spec_.conv.batch * per_image, [&](int64_t index, int slot) {
      run_part(run, index / per_image, index % per_image / parts_, index % parts_,
               copies + slot * copied_floats_);
    });
  }

  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    const Run run{args, filters_.view(args, scratch, packing())};
    float* copies = scratch + filters_.scratch_floats();
    const std::vector<std::vector<Rectangle>> chunks = chunks_of(where);
    const int64_t parts = threads_ == 1 ? 1 : std::min<int64_t>(threads_, panels_.panels());
    const int64_t per_image = std::ssize(chunks) * parts;
    args.pool.parallel_for(spec_.conv.batch * per_image, [&](int64_t index, int slot) {
      const int64_t part = index % parts, panels = panels_.panels();
      run_patches(run, index / per_image, {panels * part / parts, panels * (part + 1) / parts},
                  chunks[static_cast<size_t>(index % per_image / parts)],
                  copies + slot * copied_floats_);
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(filters_.scratch_floats() + copied_floats_ * threads_) *
           sizeof(float);
  }

 private:
  struct Run {
    const KernelArgs& args;
    Filters::View filters;
  };

  // Function for this number of pixels of a row.
  struct RowTile {
    ConvTileFunction convolve;
    int64_t pixels;
  };

  // A rectangle of the output. The pixels that it reads begin at `x`, in an image of this size.
  struct Patch {
    Rectangle where;
    const float* x;
    int64_t width, height;
  };

  static bool is_padded(const ops::WindowAxis& axis) {
    return axis.pad_begin > 0 || axis.pad_end > 0;
  }

  // A 1x1 convolution reads every pixel once: the whole image is one row, and no tile ends at its
  // edge.
  bool is_flat() const {
    return spec_.image_is_blocked &&
           std::ranges::all_of(spec_.conv.window.axes, [](const ops::WindowAxis& axis) {
             return axis.kernel == 1 && axis.stride == 1 && !is_padded(axis);
           });
  }

  PackedForm form() const {
    return {"direct",
            {spec_.conv.out_channels, spec_.in_channels, pixel_, spec_.conv.taps(), tile_.blocks,
             block_size(), blocks_.narrow}};
  }

  Filters::Pack packing() const {
    return [this](const float* w, ThreadPool& pool, float* to) {
      const int64_t in = spec_.in_channels, taps = spec_.conv.taps();
      panels_.fill(
          pool, [=](int64_t m, int64_t c, int64_t tap) { return w[(m * in + c) * taps + tap]; },
          to);
    };
  }

  // Lines are the units of work: rows, or tiles of a flat image. The last tile may overlap the one
  // before, so both are one line: no two threads write the same pixel.
  int64_t lines() const {
    return flat_ ? std::max<int64_t>(row_length_ / tile_.pixels, 1) : output_rows_;
  }

  // Cuts the image into chunks of lines that fit into a cache, and the work on each, lines times
  // panels, into even parts if there are not enough chunks for all threads. Parts of a chunk copy
  // the same rows.
  void choose_work() {
    const int64_t channels = spec_.in_blocks * pixel_;
    const int64_t line = channels * (flat_ ? tile_.pixels : copied_columns() * spec_.rows().stride);
    const int64_t most = std::clamp<int64_t>(kChunkFloats / line, 1, lines());
    chunks_ = ceil_div(lines(), most);
    chunk_ = ceil_div(lines(), chunks_);
    chunks_ = ceil_div(lines(), chunk_);
    if (copies_) copied_floats_ = channels * copied_columns() * copied_rows(chunk_);
    constexpr int64_t kPartsPerThread = 4;
    const int64_t wanted = threads_ == 1 ? 1 : kPartsPerThread * threads_;
    const int64_t images = spec_.conv.batch * chunks_;
    parts_ = std::clamp<int64_t>(ceil_div(wanted, images), 1, chunk_ * panels_.panels());
  }

  int64_t copied_columns() const { return copied_columns(spec_.columns().output); }
  int64_t copied_columns(int64_t output_columns) const {
    return (output_columns - 1) * spec_.columns().stride + spec_.columns().extent();
  }
  int64_t copied_rows(int64_t output_rows) const {
    return (output_rows - 1) * spec_.rows().stride + spec_.rows().extent();
  }

  void run_part(const Run& run, int64_t image, int64_t chunk, int64_t part, float* scratch) const {
    const float* x = run.args.input(0) + image * spec_.input_image();
    const int64_t begin = chunk * chunk_, end = std::min(begin + chunk_, lines());
    if (copies_) copy_rows(x, begin, end, scratch);
    // Units of work are numbered panel by panel, so that a panel of weights meets many lines.
    const int64_t count = end - begin, units = count * panels_.panels();
    int64_t unit = units * part / parts_;
    const int64_t unit_end = units * (part + 1) / parts_;
    while (unit < unit_end) {
      const int64_t panel = unit / count, first = unit % count;
      const int64_t last = std::min(count, first + unit_end - unit);
      run_lines(run, image, panel, {begin + first, begin + last}, copies_ ? scratch : x,
                copies_ ? begin : 0);
      unit += last - first;
    }
  }

  // `x` is the memory that tiles read, from line `origin` on.
  void run_lines(const Run& run, int64_t image, int64_t panel, ops::Range lines_here,
                 const float* x, int64_t origin) const {
    const int64_t at = (image * spec_.out_blocks + panels_.first_block(panel)) *
                       spec_.conv.output_plane() * spec_.block;
    ConvTile tile = describe(run.filters, panel, copies_ ? copied_columns() : spec_.columns().input,
                             copies_ ? copied_rows(chunk_) : spec_.rows().input);
    const RowTile row_tile{panels_.function_of(panel, functions_), tile_.pixels};
    if (flat_) {
      const bool at_end = lines_here.end == lines();
      run_row(
          run.args, row_tile, tile, x, at,
          {lines_here.begin * tile_.pixels, at_end ? row_length_ : lines_here.end * tile_.pixels});
      return;
    }
    for (int64_t row = lines_here.begin; row < lines_here.end; ++row) {
      run_row(run.args, row_tile, tile, x + (row - origin) * row_floats(),
              at + row * row_length_ * spec_.block, {0, row_length_});
    }
  }

  // The rectangles, cut and put together so that the image below each list fits into a chunk.
  std::vector<std::vector<Rectangle>> chunks_of(std::span<const Rectangle> where) const {
    const int64_t most = copies_ ? copied_floats_ : kChunkFloats;
    std::vector<std::vector<Rectangle>> chunks;
    int64_t left = 0;
    const auto add = [&](const Rectangle& one) {
      const int64_t floats = floats_below(one.rows.count(), one.columns.count());
      if (chunks.empty() || floats > left) {
        chunks.emplace_back();
        left = most;
      }
      chunks.back().push_back(one);
      left -= floats;
    };
    for (const Rectangle& one : where) {
      if (flat_) {
        for_each_flat(one, std::max<int64_t>(most / floats_below(1, 1), 1), add);
        continue;
      }
      int64_t rows = one.rows.count();
      while (rows > 1 && floats_below(rows, one.columns.count()) > most) rows = ceil_div(rows, 2);
      for (int64_t row = one.rows.begin; row < one.rows.end; row += rows) {
        add({{row, std::min(row + rows, one.rows.end)}, one.columns});
      }
    }
    return chunks;
  }

  // Calls add() for pieces of the only row of a flat image, of `most` pixels at most.
  template <class Add>
  void for_each_flat(const Rectangle& one, int64_t most, const Add& add) const {
    const int64_t width = spec_.columns().output;
    const bool is_wide = one.columns.count() == width;
    for (int64_t row = one.rows.begin; row < one.rows.end; ++row) {
      const int64_t begin = row * width + one.columns.begin;
      const int64_t end = is_wide ? one.rows.end * width : row * width + one.columns.end;
      for (int64_t i = begin; i < end; i += most) add({{0, 1}, {i, std::min(i + most, end)}});
      if (is_wide) return;
    }
  }

  // Floats of the image that this number of pixels of the output reads.
  int64_t floats_below(int64_t rows, int64_t columns) const {
    return spec_.in_blocks * pixel_ * copied_rows(rows) * copied_columns(columns);
  }

  void run_patches(const Run& run, int64_t image, ops::Range panels,
                   std::span<const Rectangle> where, float* scratch) const {
    const float* x = run.args.input(0) + image * spec_.input_image();
    const int64_t stride = spec_.columns().stride, width = spec_.columns().input;
    std::vector<Patch> patches;
    patches.reserve(where.size());
    for (const Rectangle& one : where) {
      if (copies_) {
        Patch patch{one, scratch, copied_columns(one.columns.count()),
                    copied_rows(one.rows.count())};
        copy_patch(x, patch, scratch);
        scratch += floats_below(one.rows.count(), one.columns.count());
        patches.push_back(patch);
      } else {
        const int64_t at =
            one.rows.begin * spec_.rows().stride * width + one.columns.begin * stride;
        patches.push_back({one, x + at * pixel_, width, spec_.rows().input});
      }
    }
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      for (const Patch& patch : patches) run_patch(run, image, panel, patch);
    }
  }

  void run_patch(const Run& run, int64_t image, int64_t panel, const Patch& patch) const {
    const auto [rows, columns] = patch.where;
    const int64_t plane =
        (image * spec_.out_blocks + panels_.first_block(panel)) * spec_.conv.output_plane();
    const TileSize size =
        choose_tile(short_tiles_, columns.count(), std::max<int64_t>(blocks_.whole, 1));
    const ConvTileFunctions functions =
        conv_tile_functions(size.pixels, spec_.columns().stride * pixel_);
    const RowTile row_tile{panels_.function_of(panel, functions), size.pixels};
    ConvTile tile = describe(run.filters, panel, patch.width, patch.height);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const float* x = patch.x + (row - rows.begin) * spec_.rows().stride * patch.width * pixel_;
      run_row(run.args, row_tile, tile, x,
              (plane + row * row_length_ + columns.begin) * spec_.block, {0, columns.count()});
    }
  }

  // Floats that tiles advance in x from one row of the output to the next.
  int64_t row_floats() const {
    return spec_.rows().stride * pixel_ * (copies_ ? copied_columns() : spec_.columns().input);
  }

  // Some pixels of a row that starts at `x` and at `at` of the output.
  void run_row(const KernelArgs& args, const RowTile& row_tile, ConvTile& tile, const float* x,
               int64_t at, ops::Range pixels) const {
    const int64_t step = spec_.columns().stride * pixel_;
    for (int64_t i = pixels.begin; i < pixels.end; i += row_tile.pixels) {
      // The last tile computes some pixels a second time: no tile is partial.
      const int64_t pixel = std::min(i, pixels.end - row_tile.pixels);
      const int64_t to = at + pixel * spec_.block;
      tile.x = x + pixel * step;
      tile.y = args.output(0) + to;
      tile.addend = args.has(3) ? args.input(3) + to : nullptr;
      row_tile.convolve(tile, step);
      apply_pass(tile, row_tile.pixels);
    }
  }

  void apply_pass(const ConvTile& tile, int64_t pixels) const {
    const Function& pass = spec_.epilogue.pass;
    if (pass.loop == nullptr) return;
    for (int64_t b = 0; b < tile.out_blocks; ++b) {
      float* y = tile.y + b * tile.y_block;
      pass(y, y, pixels * spec_.block);
    }
  }

  // Everything in a tile that does not depend on its place in an image of this size.
  ConvTile describe(const Filters::View& filters, int64_t panel, int64_t width,
                    int64_t height) const {
    ConvTile tile;
    tile.x_block = width * height * pixel_;
    tile.x_row = spec_.rows().dilation * width * pixel_;
    tile.x_column = spec_.columns().dilation * pixel_;
    tile.in_blocks = spec_.image_is_blocked ? spec_.in_blocks : 1;
    tile.full_channels = pixel_;
    tile.last_channels = spec_.in_channels - (tile.in_blocks - 1) * pixel_;
    tile.tap_rows = spec_.rows().kernel;
    tile.tap_columns = spec_.columns().kernel;
    tile.w = filters.packed + panels_.place(panel);
    tile.bias = filters.bias + panels_.first_block(panel) * spec_.block;
    tile.finish = spec_.epilogue.finish(panels_.first_block(panel));
    tile.out_blocks = panels_.blocks_of(panel);
    tile.y_block = spec_.conv.output_plane() * spec_.block;
    tile.y_pixel = spec_.block;
    return tile;
  }

  // Copies the part of the image that whole output rows [begin, end) read.
  void copy_rows(const float* x, int64_t begin, int64_t end, float* to) const {
    const Rectangle where{{begin, end}, {0, spec_.columns().output}};
    copy_patch(x, {where, to, copied_columns(), copied_rows(chunk_)}, to);
  }

  // Copies the part of the image that the patch reads, with zeros for padding, as
  // [block][row][column][channel].
  void copy_patch(const float* x, const Patch& patch, float* to) const {
    const ops::WindowAxis &rows = spec_.rows(), &columns = spec_.columns();
    const int64_t plane = rows.input * columns.input, width = patch.width;
    const int64_t blocks = spec_.image_is_blocked ? spec_.in_blocks : 1;
    const int64_t first = rows.position(patch.where.rows.begin, 0);
    const int64_t count = copied_rows(patch.where.rows.count());
    const int64_t column = columns.position(patch.where.columns.begin, 0);
    for (int64_t b = 0; b < blocks; ++b) {
      float* line = to + b * width * patch.height * pixel_;
      for (int64_t r = first; r < first + count; ++r, line += width * pixel_) {
        if (r < 0 || r >= rows.input) {
          std::fill_n(line, width * pixel_, 0.0f);
        } else if (spec_.image_is_blocked) {
          copy_line(x + (b * plane + r * columns.input) * pixel_, column, width, line);
        } else {
          interleave_line(x + r * columns.input, plane, column, width, line);
        }
      }
    }
  }

  // Columns of [first, first + width) that the image has, counted from `first`.
  ops::Range inner_columns(int64_t first, int64_t width) const {
    const int64_t begin = std::clamp<int64_t>(-first, 0, width);
    return {begin, std::clamp(spec_.columns().input - first, begin, width)};
  }

  void copy_line(const float* x, int64_t first, int64_t width, float* to) const {
    const ops::Range inner = inner_columns(first, width);
    std::fill_n(to, inner.begin * pixel_, 0.0f);
    std::copy_n(x + (first + inner.begin) * pixel_, inner.count() * pixel_,
                to + inner.begin * pixel_);
    std::fill_n(to + inner.end * pixel_, (width - inner.end) * pixel_, 0.0f);
  }

  void interleave_line(const float* x, int64_t plane, int64_t first, int64_t width,
                       float* to) const {
    const ops::Range inner = inner_columns(first, width);
    std::fill_n(to, width * pixel_, 0.0f);
    for (int64_t c = 0; c < spec_.in_channels; ++c) {
      const float* from = x + c * plane + first + inner.begin;
      float* channel = to + inner.begin * pixel_ + c;
      for (int64_t i = 0; i < inner.count(); ++i) channel[i * pixel_] = from[i];
    }
  }

  const BlockedSpec spec_;
  const bool flat_, copies_;
  const int64_t pixel_;  // floats from one pixel to the next, as tiles see them
  const int64_t row_length_, output_rows_;
  const OutBlocks blocks_;
  const TileSize tile_;
  const ConvTileFunctions functions_;
  const int threads_;
  const FilterPanels panels_;
  const Filters filters_;
  int64_t chunk_ = 0, chunks_ = 0;     // lines in one, and how many there are
  int64_t parts_ = 1;                  // of a chunk
  int64_t copied_floats_ = 0;          // that each thread needs
  std::vector<TileSize> short_tiles_;  // for rows of rectangles
};

bool fits(const KernelSpec& spec) {
  return has_kernel_types(spec) && spec.node.integer("group", 1) == 1;
}

std::unique_ptr<Kernel> make_direct(const KernelSpec& spec) {
  return fits(spec) ? std::make_unique<DirectKernel>(spec) : nullptr;
}

double cost(const KernelSpec& spec) {
  if (!fits(spec)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(
      ops::count_macs(blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1))));
}

}  // namespace

std::vector<Provider> direct_conv_kernels() {
  return {{&blocked_conv, "direct", make_direct, cost}};
}

}  // namespace shoal::cpu
