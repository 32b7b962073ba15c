// Filters: packed weights and bias of a convolution in the blocked layout. Constants are packed
// when the kernel is made. Weights that change from run to run, as in training, are packed at the
// beginning of each run into the kernel's scratch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "shoal/base/round_up.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/packed_weights.h"

namespace shoal::cpu {

// FilterPanels: the layout of filters that are packed for the innermost loop (conv_loops.h).
// Weights in the order in which tiles read them, so that the loop has one sequential stream:
//   [panel][block of input channels][tap][input channel][block of the panel][b]
// A panel has `panel_blocks` blocks of output channels; the last may have fewer. A narrow block
// (conv_loops.h) is a separate panel. Output channels beyond the last are zeros, input channels
// beyond the last are absent.
class FilterPanels {
 public:
  struct Sizes {
    int64_t out, in, together, taps, panel_blocks;  // input channels are read `together` at a time
  };
  explicit FilterPanels(const Sizes& sizes)
      : sizes_(sizes),
        block_(block_size()),
        blocks_(out_blocks_of(sizes.out)),
        block_floats_(sizes.in * sizes.taps * block_) {}

  int64_t panels() const { return whole_panels() + blocks_.narrow; }
  int64_t blocks_of(int64_t panel) const {
    return is_narrow(panel) ? 1 : std::min(sizes_.panel_blocks, blocks_.whole - first_block(panel));
  }
  int64_t first_block(int64_t panel) const {
    return is_narrow(panel) ? blocks_.whole : panel * sizes_.panel_blocks;
  }
  int64_t floats() const { return (blocks_.whole + blocks_.narrow) * block_floats_; }
  int64_t place(int64_t panel) const { return first_block(panel) * block_floats_; }  // in them

  ConvTileFunction function_of(int64_t panel, const ConvTileFunctions& functions) const {
    return is_narrow(panel) ? functions.narrow
                            : functions.whole[static_cast<size_t>(blocks_of(panel))];
  }

  // Packs all panels on all threads. w(m, c, tap) returns a weight and is called for m < out, c <
  // in. REQUIRES: `to` has floats().
  template <class W>
  void fill(ThreadPool& pool, const W& w, float* to) const {
    pool.parallel_ranges(panels(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) fill_panel(i, w, to + place(i));
    });
  }

 private:
  bool is_narrow(int64_t panel) const { return panel == whole_panels(); }
  int64_t whole_panels() const { return ceil_div(blocks_.whole, sizes_.panel_blocks); }
  template <class W>
  void fill_panel(int64_t panel, const W& w, float* to) const;

  const Sizes sizes_;
  const int64_t block_;
  const OutBlocks blocks_;
  const int64_t block_floats_;  // of one block of output channels
};

template <class W>
void FilterPanels::fill_panel(int64_t panel, const W& w, float* to) const {
  const int64_t first = first_block(panel) * block_, width = blocks_of(panel) * block_;
  for (int64_t c0 = 0; c0 < sizes_.in; c0 += sizes_.together) {
    const int64_t c1 = std::min(c0 + sizes_.together, sizes_.in);
    for (int64_t tap = 0; tap < sizes_.taps; ++tap) {
      for (int64_t c = c0; c < c1; ++c, to += width) {
        for (int64_t m = 0; m < width; ++m) {
          to[m] = first + m < sizes_.out ? w(first + m, c, tap) : 0;
        }
      }
    }
  }
}

class Filters {
 public:
  // Memory that one run reads.
  struct View {
    const float* packed;
    const float* bias;  // [out_blocks][block]
  };

  // Writes all packed floats of weights w to `to`.
  using Pack = std::function<void(const float* w, ThreadPool& pool, float* to)>;

  Filters() = default;
  // `count` is the number of packed floats. Weights are input 1, bias is input 2.
  Filters(const KernelSpec& spec, const PackedForm& form, int64_t count, int64_t out_blocks,
          const Pack& pack)
      : count_(count), bias_count_(out_blocks * block_size()) {
    if (!has_constant_filters(spec)) return;
    bias_ = blocked_bias(spec, out_blocks, block_size());
    const float* w = spec.constant(1)->data<float>().data();
    packed_ = packed_weights(spec, form, count, [&](float* to) { pack(w, spec.pool, to); });
    spec.constant(1)->release_pages();
  }

  int64_t scratch_floats() const {
    return packed_ ? 0 : round_up(count_, kLine) + round_up(bias_count_, kLine);
  }

  // Packs variable weights into `scratch`, which has scratch_floats(). Call once per run.
  View view(const KernelArgs& args, float* scratch, const Pack& pack) const {
    if (packed_) return {packed_.get(), bias_.data()};
    pack(args.input(1), args.pool, scratch);
    float* bias = scratch + round_up(count_, kLine);
    std::fill_n(bias, bias_count_, 0.0f);
    if (args.has(2)) std::ranges::copy(args.inputs[2].data<float>(), bias);
    return {scratch, bias};
  }

 private:
  static constexpr int64_t kLine = 16;  // floats of a cache line: tiles use aligned loads

  int64_t count_ = 0, bias_count_ = 0;
  PackedFloats packed_;  // null: at each run
  AlignedFloats bias_;
};

}  // namespace shoal::cpu
