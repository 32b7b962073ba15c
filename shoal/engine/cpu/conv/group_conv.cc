// BlockedConv in groups of a few channels, several of them to a block (conv_loops.h). Groups do not
// reach beyond their block, so that a block of an image is a separate unit of work.
#include <algorithm>

#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/conv_loops/direct_rows.h"

namespace shoal::cpu {
namespace {

// Floats of the image that a thread works on at a time: 32 KB, one block of channels in a
// first-level cache.
constexpr int64_t kChunkFloats = int64_t{8} << 10;

class GroupKernel : public Kernel {
 public:
  explicit GroupKernel(const KernelSpec& spec)
      : spec_(spec),
        rows_(spec_.conv, spec_.block, spec_.block, true, false),
        tile_(group_tile_function(spec_.conv.in_channels, rows_.row_length())),
        threads_(spec.pool.threads()),
        weights_(spec_.out_blocks * block_weights()) {
    rows_.share(planes(), 1, tile_.pixels, kChunkFloats, threads_);
    pack(spec.constant(1)->data<float>().data());
    spec.constant(1)->release_pages();
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    const int64_t parts = rows_.parts_of_image();
    args.pool.parallel_for(planes() * parts, [&](int64_t index, int slot) {
      run_part(args, index / parts, index % parts, scratch + slot * rows_.copied_elements());
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(rows_.copied_elements() * threads_) * sizeof(float);
  }

 private:
  int64_t planes() const { return spec_.conv.batch * spec_.out_blocks; }
  int64_t block_weights() const { return spec_.conv.taps() * spec_.conv.in_channels * spec_.block; }

  void pack(const float* w) {
    const int64_t in = spec_.conv.in_channels, taps = spec_.conv.taps(), block = spec_.block;
    std::fill_n(weights_.data(), spec_.out_blocks * block_weights(), 0.0f);
    for (int64_t m = 0; m < spec_.in_channels; ++m) {
      float* to = weights_.data() + m / block * block_weights() + m % block;
      for (int64_t c = 0; c < in; ++c) {
        for (int64_t tap = 0; tap < taps; ++tap) to[(tap * in + c) * block] = *w++;
      }
    }
  }

  // `plane` counts the blocks of all images.
  void run_part(const KernelArgs& args, int64_t plane, int64_t part, float* scratch) const {
    const float* x = args.input(0) + plane * spec_.conv.input_plane() * spec_.block;
    const int64_t at = plane * spec_.conv.output_plane() * spec_.block;
    GroupTile tile = describe(plane % spec_.out_blocks);
    rows_.for_each_row(x, part, 0.0f, scratch, PlainCopier<float>{spec_.block},
                       [&](int64_t, const float* row, int64_t y, int64_t begin, int64_t end) {
                         run_row(args, tile, row, at + y * rows_.row_length() * spec_.block, begin,
                                 end);
                       });
  }

  // Pixels [begin, end) of a row that starts at `x` and at `at` of the output.
  void run_row(const KernelArgs& args, GroupTile& tile, const float* x, int64_t at, int64_t begin,
               int64_t end) const {
    for (int64_t i = begin; i < end; i += tile_.pixels) {
      // The last tile of the row computes some pixels a second time: no tile is partial.
      const int64_t pixel = std::min(i, rows_.row_length() - tile_.pixels);
      const int64_t to = at + pixel * spec_.block;
      tile.x = x + pixel * rows_.step();
      tile.y = args.output(0) + to;
      tile.addend = args.has(3) ? args.input(3) + to : nullptr;
      tile_.run(tile);
    }
    const Function& pass = spec_.epilogue.pass;
    float* done = args.output(0) + at + begin * spec_.block;
    if (pass.loop != nullptr) pass(done, done, (end - begin) * spec_.block);
  }

  // Everything in a tile that does not depend on its place in the block.
  GroupTile describe(int64_t b) const {
    GroupTile tile;
    tile.x_pixel = rows_.step();
    tile.x_row = rows_.tap_row();
    tile.x_column = rows_.tap_column();
    tile.tap_rows = spec_.rows().kernel;
    tile.tap_columns = spec_.columns().kernel;
    tile.w = weights_.data() + b * block_weights();
    tile.bias = spec_.bias.data() + b * spec_.block;
    tile.finish = spec_.epilogue.finish(b);
    return tile;
  }

  const BlockedSpec spec_;
  DirectRows<float> rows_;  // of one block at a time
  const GroupTileFunction tile_;
  const int threads_;
  AlignedFloats weights_;  // [block], each as GroupTile says
};

std::unique_ptr<Kernel> make_groups(const KernelSpec& spec) {
  if (!has_constant_filters(spec)) return nullptr;
  const ops::Convolution conv = blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1));
  const bool is_blocked = spec.shape(0).rank() == spec.outputs[0].shape.rank();
  const bool fits = is_blocked && conv.groups > 1 && conv.in_channels == conv.out_channels &&
                    group_tile_function(conv.in_channels, 1).run != nullptr;
  return fits ? std::make_unique<GroupKernel>(spec) : nullptr;
}

}  // namespace

std::vector<Provider> group_conv_kernels() { return {{&blocked_conv, "groups", make_groups}}; }

}  // namespace shoal::cpu
