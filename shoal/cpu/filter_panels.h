// Filters packed for the innermost loop of convolutions (conv_tile.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "shoal/cpu/conv_tile.h"
#include "shoal/cpu/packed_weights.h"

namespace shoal::cpu {

// Weights in the order in which tiles read them: by panel of `panel_blocks` blocks of output
// channels (the last may have fewer), input channel block, tap, input channel.
class FilterPanels {
 public:
  struct Sizes {
    int64_t out, in, together, taps, panel_blocks;
  };
  // Input channels are read `together` at a time. w(m, c, tap) gives the weights; it is asked for
  // m < out and c < in only. `form` says which ones they are.
  template <class W>
  FilterPanels(const Site& site, PackedForm form, const Sizes& sizes, const W& w);

  int64_t panels() const { return (blocks_ + panel_blocks_ - 1) / panel_blocks_; }
  int64_t blocks_of(int64_t panel) const {
    return std::min(panel_blocks_, blocks_ - panel * panel_blocks_);
  }
  int64_t first_block(int64_t panel) const { return panel * panel_blocks_; }
  const float* panel(int64_t i) const { return floats_.get() + i * panel_blocks_ * block_floats_; }

 private:
  template <class W>
  void fill(int64_t panel, const Sizes& sizes, const W& w, float* to) const;

  int64_t block_, blocks_, panel_blocks_;
  int64_t block_floats_;  // that one block of output channels takes
  PackedFloats floats_;
};

template <class W>
FilterPanels::FilterPanels(const Site& site, PackedForm form, const Sizes& sizes, const W& w)
    : block_(block_size()),
      blocks_((sizes.out + block_ - 1) / block_),
      panel_blocks_(sizes.panel_blocks),
      block_floats_(sizes.in * sizes.taps * block_) {
  form.numbers.insert(form.numbers.end(), {sizes.out, sizes.in, sizes.together, sizes.taps,
                                           sizes.panel_blocks, block_});
  floats_ = packed_weights(site, form, blocks_ * block_floats_, [&](float* to) {
    site.pool.parallel_ranges(panels(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        fill(i, sizes, w, to + i * panel_blocks_ * block_floats_);
      }
    });
  });
}

template <class W>
void FilterPanels::fill(int64_t panel, const Sizes& sizes, const W& w, float* to) const {
  const int64_t first = first_block(panel) * block_, width = blocks_of(panel) * block_;
  for (int64_t c0 = 0; c0 < sizes.in; c0 += sizes.together) {
    const int64_t c1 = std::min(c0 + sizes.together, sizes.in);
    for (int64_t tap = 0; tap < sizes.taps; ++tap) {
      for (int64_t c = c0; c < c1; ++c, to += width) {
        for (int64_t m = 0; m < width; ++m) {
          to[m] = first + m < sizes.out ? w(first + m, c, tap) : 0;
        }
      }
    }
  }
}

}  // namespace shoal::cpu
