// SelectChannels. Where a block is taken whole, it is copied; otherwise its lanes are collected
// from the blocks that have them. Both are limited by memory.
#include <algorithm>
#include <array>
#include <cstring>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/layout/select_channels.h"

namespace shoal::cpu {
namespace {

struct BlockSources {
  std::vector<LaneSource> sources;
  bool whole = false;  // one source, every lane in its place
};

std::vector<BlockSources> sources_of(const Node& node, int64_t block) {
  const std::vector<int64_t> channels = node.integers("channels"), from = node.integers("from");
  std::vector<BlockSources> blocks(static_cast<size_t>((std::ssize(from) + block - 1) / block));
  for (size_t c = 0; c < from.size(); ++c) {
    int64_t channel = from[c];
    size_t input = 0;
    for (; channel >= channels[input]; ++input) channel -= channels[input];
    std::vector<LaneSource>& sources = blocks[c / static_cast<size_t>(block)].sources;
    auto source = std::ranges::find_if(sources, [&](const LaneSource& s) {
      return s.input == input && s.block == channel / block;
    });
    if (source == sources.end()) {
      const std::vector<int32_t> none(static_cast<size_t>(block), 0);
      source = sources.insert(source, {input, channel / block, none, none});
    }
    const size_t lane = c % static_cast<size_t>(block);
    source->lanes[lane] = static_cast<int32_t>(channel % block);
    source->taken[lane] = -1;
  }
  for (BlockSources& b : blocks) {
    // Lanes beyond the channels may be anything finite.
    const LaneSource& first = b.sources[0];
    b.whole = b.sources.size() == 1;
    for (size_t lane = 0; lane < first.lanes.size(); ++lane) {
      b.whole = b.whole && (first.taken[lane] == 0 || first.lanes[lane] == static_cast<int>(lane));
    }
  }
  return blocks;
}

// Pixels of one block: `count` from `first` on, in one image.
struct Part {
  int64_t image, block, first, count;
};

class SelectKernel : public RectangleKernel {
 public:
  explicit SelectKernel(const KernelSpec& spec)
      : images_(spec.outputs[0].shape[0]),
        width_(spec.outputs[0].shape[3]),
        pixels_(spec.outputs[0].shape[2] * width_),
        block_(spec.outputs[0].shape[4]),
        blocks_(sources_of(spec.node, block_)) {
    for (const Operand& input : spec.inputs) input_blocks_.push_back(input.type.shape[1]);
  }

  void run(const KernelArgs& args) const override {
    constexpr int64_t kPixels = 512;  // at a time
    const int64_t parts = (pixels_ + kPixels - 1) / kPixels, blocks = std::ssize(blocks_);
    args.pool.parallel_ranges(images_ * blocks * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % parts * kPixels;
        run_part(args, {i / (parts * blocks), i / parts % blocks, first,
                        std::min(kPixels, pixels_ - first)});
      }
    });
  }

  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    const int64_t blocks = std::ssize(blocks_);
    args.pool.parallel_for(images_ * blocks, [&](int64_t i, int) {
      for (const Rectangle& one : where) {
        for_each_line(one, width_, [&](int64_t first, int64_t count) {
          run_part(args, {i / blocks, i % blocks, first, count});
        });
      }
    });
  }

 protected:
  int64_t block() const { return block_; }
  // The first element of the part in the result, and in a source.
  int64_t place(const Part& part) const { return place(part, std::ssize(blocks_), part.block); }
  int64_t place(const Part& part, const LaneSource& source) const {
    return place(part, input_blocks_[source.input], source.block);
  }

 private:
  int64_t place(const Part& part, int64_t blocks, int64_t block) const {
    return ((part.image * blocks + block) * pixels_ + part.first) * block_;
  }

  void run_part(const KernelArgs& args, const Part& part) const {
    const BlockSources& from = blocks_[static_cast<size_t>(part.block)];
    if (!from.whole) return collect(args, part, from.sources);
    const LaneSource& source = from.sources[0];
    const auto size = static_cast<int64_t>(size_of(args.outputs[0].dtype()));
    std::memcpy(args.outputs[0].bytes().data() + place(part) * size,
                args.inputs[source.input].bytes().data() + place(part, source) * size,
                static_cast<size_t>(part.count * block_ * size));
  }

  // Puts the lanes of the sources together. There is at least one.
  virtual void collect(const KernelArgs& args, const Part& part,
                       std::span<const LaneSource> sources) const = 0;

  const int64_t images_, width_, pixels_, block_;
  const std::vector<BlockSources> blocks_;  // of the result
  std::vector<int64_t> input_blocks_;       // how many each input has
};

class FloatSelectKernel : public SelectKernel {
 public:
  using SelectKernel::SelectKernel;

 private:
  void collect(const KernelArgs& args, const Part& part,
               std::span<const LaneSource> sources) const override {
    for (size_t i = 0; i < sources.size(); i += kMostLaneSources) {
      const auto some = sources.subspan(i, std::min(kMostLaneSources, sources.size() - i));
      std::array<const float*, kMostLaneSources> x{};
      std::ranges::transform(some, x.begin(), [&](const LaneSource& source) {
        return args.input(source.input) + place(part, source);
      });
      select_lanes(some, x, /*adds=*/i > 0, part.count, args.output(0) + place(part));
    }
  }
};

// Elements of one byte, as quantised networks have them.
class ByteSelectKernel : public SelectKernel {
 public:
  using SelectKernel::SelectKernel;

 private:
  void collect(const KernelArgs& args, const Part& part,
               std::span<const LaneSource> sources) const override {
    const int64_t bytes = part.count * block();
    std::byte* y = args.outputs[0].bytes().data() + place(part);
    std::memset(y, 0, static_cast<size_t>(bytes));
    for (const LaneSource& source : sources) {
      const std::byte* x = args.inputs[source.input].bytes().data() + place(part, source);
      for (int64_t lane = 0; lane < block(); ++lane) {
        const auto l = static_cast<size_t>(lane);
        if (source.taken[l] == 0) continue;
        for (int64_t p = 0; p < bytes; p += block()) y[p + lane] = x[p + source.lanes[l]];
      }
    }
  }
};

std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  const TensorType& y = spec.outputs[0];
  if (y.shape.count() == 0) return nullptr;
  if (size_of(y.dtype) == 1) return std::make_unique<ByteSelectKernel>(spec);
  const bool fits = y.dtype == DType::kF32 && y.shape[4] == select_block();
  return fits ? std::make_unique<FloatSelectKernel>(spec) : nullptr;
}

}  // namespace

std::vector<Provider> select_kernels() { return {{&select_channels, "lanes", make}}; }

}  // namespace shoal::cpu
