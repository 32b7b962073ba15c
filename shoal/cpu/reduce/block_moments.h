// Passes over pixels of one block of channels (blocked.h): what normalisations of single channels
// are made of.
#pragma once

#include <cstdint>

namespace shoal::cpu {

// Of the pixels, by channel: the mean, and the sum of the squares of the distances from it. The
// sums are floats: few pixels at a time stay exact.
void block_moments(const float* x, int64_t pixels, float* mean, float* squares);

// y = (x - mean) * factor + shift, each of which has one element per channel.
struct BlockScale {
  const float* mean;
  const float* factor;
  const float* shift;
};
void scale_block(const BlockScale& scale, const float* x, float* y, int64_t pixels);

// Of the pixels, by channel: the sum of dy, and that of dy * (x - mean).
void block_products(const float* x, const float* mean, const float* dy, int64_t pixels, float* sum,
                    float* along);

// dx = dy * factor + (x - mean) * slope + shift, each of which has one element per channel.
struct BlockMix {
  const float* mean;
  const float* factor;
  const float* slope;
  const float* shift;
};
void mix_blocks(const BlockMix& mix, const float* x, const float* dy, float* dx, int64_t pixels);

}  // namespace shoal::cpu
