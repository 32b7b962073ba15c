// BlockedConvTranspose in phases (phases.h): stride_h * stride_w convolutions of stride 1, each
// with the taps that its outputs meet, by the register block of direct convolutions (conv_loops.h).
// No product with the zeros of an upsampled image is computed. A thread copies the rows of the
// image that it works on, with zeros around them, once for all phases; their outputs interleave in
// y.
#include <algorithm>
#include <array>

#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/conv/filters.h"
#include "shoal/engine/cpu/conv/phases.h"

namespace shoal::cpu {
namespace {

using ops::Range;

// Floats of the image that a thread works on at a time, as in direct convolutions: 192 KB.
constexpr int64_t kChunkFloats = int64_t{48} << 10;

// Sizes of a BlockedConvTranspose node. conv is the convolution from y to x: its input is our
// output.
struct TransposedSpec {
  explicit TransposedSpec(const KernelSpec& spec)
      : conv(blocked_transposed_convolution_of(spec.node, spec.shape(0), spec.shape(1))),
        block(spec.outputs[0].shape[4]),
        in_blocks(spec.shape(0)[1]),
        out_blocks(spec.outputs[0].shape[1]),
        epilogue(spec, out_blocks, block) {}

  ops::Convolution conv;  // from y to x
  int64_t in_channels() const { return conv.out_channels; }
  int64_t out_channels() const { return conv.in_channels; }
  int64_t in_rows() const { return conv.window.axes[1].output; }
  int64_t in_columns() const { return conv.window.axes[2].output; }
  int64_t out_columns() const { return conv.window.axes[2].input; }
  int64_t out_plane() const { return conv.input_plane() * block; }  // floats of one block

  int64_t block, in_blocks, out_blocks;
  BlockedEpilogue epilogue;
};

class PhaseKernel : public Kernel {
 public:
  explicit PhaseKernel(const KernelSpec& spec)
      : spec_(spec),
        rows_(spec_.conv.window.axes[1]),
        columns_(spec_.conv.window.axes[2]),
        blocks_(out_blocks_of(spec_.out_channels())),
        tile_(choose_tile(tile_sizes(), columns_.fewest(), std::max<int64_t>(blocks_.whole, 1))),
        functions_(conv_tile_functions(tile_.pixels, spec_.block)),
        threads_(spec.pool.threads()) {
    for (const Phase& row : rows_.phases) {
      for (const Phase& column : columns_.phases) {
        panels_.push_back(FilterPanels({spec_.out_channels(), spec_.in_channels(), spec_.block,
                                        row.taps * column.taps, tile_.blocks}));
        places_.push_back(places_.back() + panels_.back().floats());
      }
    }
    filters_ = Filters(spec, form(), places_.back(), spec_.out_blocks, packing());
    choose_work();
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    const Filters::View filters = filters_.view(args, scratch, packing());
    float* copies = scratch + filters_.scratch_floats();
    const int64_t parts = chunks_ * panel_parts_, panels = panels_[0].panels();
    args.pool.parallel_for(spec_.conv.batch * parts, [&](int64_t index, int slot) {
      const int64_t chunk = index % parts / panel_parts_, part = index % panel_parts_;
      run_part(args, {.image = index / parts,
                      .rows = {chunk * chunk_, std::min((chunk + 1) * chunk_, rows_.most())},
                      .panels = {panels * part / panel_parts_, panels * (part + 1) / panel_parts_},
                      .filters = filters,
                      .copy = copies + slot * copied_floats()});
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(filters_.scratch_floats() + copied_floats() * threads_) *
           sizeof(float);
  }

 private:
  struct Part {
    int64_t image;
    Range rows;    // of the outputs of every phase
    Range panels;  // of output channels
    Filters::View filters;
    float* copy;  // of the part of the image that they meet, [block][row][column][b]
  };

  PackedForm form() const {
    PackedForm form{
        "phases",
        {spec_.out_channels(), spec_.in_channels(), spec_.block, tile_.blocks, blocks_.narrow}};
    for (const ops::WindowAxis& axis : spec_.conv.window.axes) {
      form.numbers.insert(form.numbers.end(),
                          {axis.kernel, axis.stride, axis.dilation, axis.pad_begin, axis.input});
    }
    return form;
  }

  Filters::Pack packing() const {
    return [this](const float* w, ThreadPool& pool, float* to) {
      for (size_t i = 0; i < panels_.size(); ++i) {
        pack(w, pool, rows_.phases[i / columns_.phases.size()],
             columns_.phases[i % columns_.phases.size()], panels_[i], to + places_[i]);
      }
    };
  }

  void pack(const float* w, ThreadPool& pool, const Phase& row, const Phase& column,
            const FilterPanels& panels, float* to) const {
    const int64_t out = spec_.out_channels(), width = spec_.conv.window.axes[2].kernel;
    const int64_t kernel = spec_.conv.taps();
    panels.fill(
        pool,
        [&](int64_t m, int64_t c, int64_t tap) {
          // The phase counts taps in the order of the image, which is the reverse of the kernel.
          const int64_t r = row.first_tap - tap / column.taps * row.tap_step;
          const int64_t k = column.first_tap - tap % column.taps * column.tap_step;
          return w[(c * out + m) * kernel + r * width + k];
        },
        to);
  }

  // Cuts the outputs of every phase into chunks of rows, and the panels into parts if there are not
  // enough chunks for all threads.
  void choose_work() {
    constexpr int64_t kPartsPerThread = 4;
    chunk_ = std::clamp<int64_t>(kChunkFloats / (spec_.in_blocks * copied_row()), 1, rows_.most());
    chunks_ = (rows_.most() + chunk_ - 1) / chunk_;
    chunk_ = (rows_.most() + chunks_ - 1) / chunks_;
    const int64_t wanted = threads_ == 1 ? 1 : kPartsPerThread * threads_;
    const int64_t images = spec_.conv.batch * chunks_;
    panel_parts_ = std::clamp<int64_t>((wanted + images - 1) / images, 1, panels_[0].panels());
  }

  int64_t copied_row() const { return columns_.read(columns_.most()) * spec_.block; }
  int64_t copied_block() const { return rows_.read(chunk_) * copied_row(); }
  int64_t copied_floats() const { return spec_.in_blocks * copied_block(); }

  void run_part(const KernelArgs& args, const Part& part) const {
    copy_image(args, part);
    for (int64_t panel = part.panels.begin; panel < part.panels.end; ++panel) {
      for (size_t r = 0; r < rows_.phases.size(); ++r) {
        for (size_t c = 0; c < columns_.phases.size(); ++c) run_phase(args, part, panel, r, c);
      }
    }
    apply_pass(args, part);
  }

  void copy_image(const KernelArgs& args, const Part& part) const {
    const int64_t line = spec_.in_columns() * spec_.block, first = part.rows.begin + rows_.low;
    const float* x =
        args.input(0) + part.image * spec_.in_blocks * spec_.conv.output_plane() * spec_.block;
    float* to = part.copy;
    for (int64_t b = 0; b < spec_.in_blocks; ++b, x += spec_.in_rows() * line) {
      for (int64_t i = 0; i < rows_.read(chunk_); ++i, to += copied_row()) {
        const int64_t row = first + i;
        if (row < 0 || row >= spec_.in_rows()) {
          std::fill_n(to, copied_row(), 0.0f);
        } else {
          copy_line(x + row * line, to);
        }
      }
    }
  }

  void copy_line(const float* x, float* to) const {
    const int64_t width = columns_.read(columns_.most()), block = spec_.block;
    const int64_t begin = std::clamp<int64_t>(-columns_.low, 0, width);
    const int64_t end = std::clamp<int64_t>(spec_.in_columns() - columns_.low, begin, width);
    std::fill_n(to, begin * block, 0.0f);
    std::copy_n(x + (columns_.low + begin) * block, (end - begin) * block, to + begin * block);
    std::fill_n(to + end * block, (width - end) * block, 0.0f);
  }

  void run_phase(const KernelArgs& args, const Part& part, int64_t panel, size_t r,
                 size_t c) const {
    const Phase &row = rows_.phases[r], &column = columns_.phases[c];
    ConvTile tile = describe(part.filters, r * columns_.phases.size() + c, panel);
    tile.tap_rows = row.taps;
    tile.tap_columns = column.taps;
    const ConvTileFunction convolve = panels_[0].function_of(panel, functions_);
    const int64_t first_block = panels_[0].first_block(panel);
    const int64_t plane = (part.image * spec_.out_blocks + first_block) * spec_.out_plane();
    for (int64_t j = part.rows.begin; j < std::min(part.rows.end, row.count); ++j) {
      const float* x = part.copy + (j - part.rows.begin + row.base - rows_.low) * copied_row() +
                       (column.base - columns_.low) * spec_.block;
      const int64_t at = plane + (row.first + j * rows_.stride) * spec_.out_columns() * spec_.block;
      for (int64_t i = 0; i < column.count; i += tile_.pixels) {
        // The last tile of the row computes some pixels a second time: no tile is partial.
        const int64_t pixel = std::min(i, column.count - tile_.pixels);
        const int64_t to = at + (column.first + pixel * columns_.stride) * spec_.block;
        tile.x = x + pixel * spec_.block;
        tile.y = args.output(0) + to;
        tile.addend = args.has(3) ? args.input(3) + to : nullptr;
        convolve(tile, spec_.block);
      }
    }
  }

  // Everything in a tile that does not depend on its place, but for its taps.
  ConvTile describe(const Filters::View& filters, size_t phase, int64_t panel) const {
    ConvTile tile;
    tile.x_block = copied_block();
    tile.x_row = rows_.dilation * copied_row();
    tile.x_column = columns_.dilation * spec_.block;
    tile.in_blocks = spec_.in_blocks;
    tile.full_channels = spec_.block;
    tile.last_channels = spec_.in_channels() - (spec_.in_blocks - 1) * spec_.block;
    tile.w = filters.packed + places_[phase] + panels_[phase].place(panel);
    tile.bias = filters.bias + panels_[phase].first_block(panel) * spec_.block;
    tile.finish = spec_.epilogue.finish(panels_[phase].first_block(panel));
    tile.out_blocks = panels_[phase].blocks_of(panel);
    tile.y_block = spec_.out_plane();
    tile.y_pixel = columns_.stride * spec_.block;
    return tile;
  }

  // Applies the activation to whole rows. All phases of a row belong to this part, and are
  // complete.
  void apply_pass(const KernelArgs& args, const Part& part) const {
    const Function& pass = spec_.epilogue.pass;
    if (pass.loop == nullptr) return;
    const int64_t line = spec_.out_columns() * spec_.block;
    const int64_t end = std::min(part.rows.end * rows_.stride, spec_.conv.window.axes[1].input);
    const int64_t floats = (end - part.rows.begin * rows_.stride) * line;
    const int64_t last_block =
        panels_[0].first_block(part.panels.end - 1) + panels_[0].blocks_of(part.panels.end - 1);
    for (int64_t b = panels_[0].first_block(part.panels.begin); b < last_block; ++b) {
      float* y = args.output(0) + (part.image * spec_.out_blocks + b) * spec_.out_plane() +
                 part.rows.begin * rows_.stride * line;
      pass(y, y, floats);
    }
  }

  const TransposedSpec spec_;
  const PhasedAxis rows_, columns_;
  const OutBlocks blocks_;
  const TileSize tile_;
  const ConvTileFunctions functions_;
  const int threads_;
  std::vector<FilterPanels> panels_;  // [row phase][column phase]
  std::vector<int64_t> places_{0};    // of each phase in the filters, and where they end
  Filters filters_;
  int64_t chunk_ = 0, chunks_ = 0;  // rows of each phase in a chunk, and chunks
  int64_t panel_parts_ = 1;
};

std::unique_ptr<Kernel> make_phases(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32) || spec.node.integer("group", 1) != 1) return nullptr;
  return std::make_unique<PhaseKernel>(spec);
}

}  // namespace

std::vector<Provider> phase_conv_kernels() {
  return {{&blocked_conv_transpose, "phases", make_phases}};
}

}  // namespace shoal::cpu
