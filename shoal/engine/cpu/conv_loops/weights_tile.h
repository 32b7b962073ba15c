// The innermost loop of the gradient of convolution weights in the blocked layout (blocked.h): a
// few consecutive elements of the image by one block of channels of dy, accumulated over all pixels
// of some rows. Each of these sums is a register.
#pragma once

#include <cstdint>

namespace shoal::cpu {

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

}  // namespace shoal::cpu
