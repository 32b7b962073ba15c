// Passes over the pixels of one block of channels (blocked.h), of which normalisations per channel
// are made. Lanes are channels. REQUIRES, for all functions: b is block_size().
#pragma once

#include <cstdint>

namespace shoal::cpu {

// Mean of the pixels, and sum of squared distances from it, for each channel. Sums are floats:
// moments of short parts, combined in double, are more accurate than those of a long plane.
void block_moments(const float* x, int64_t pixels, float* mean, float* squares);

// y = (x - mean) * factor + shift, each of which has one element per channel.
struct BlockScale {
  const float* mean;
  const float* factor;
  const float* shift;
};
void scale_block(const BlockScale& scale, const float* x, float* y, int64_t pixels);

// Sum of dy, and sum of dy * (x - mean), over the pixels, for each channel.
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
