// The innermost loop of the gradient of convolutions' weights over blocked channels (blocked.h): a
// few elements of the image, side by side, meet one block of channels of dy at every pixel of some
// rows. Each of these sums is a register.
#pragma once

#include <cstdint>

namespace shoal::cpu {

// Offsets are in floats.
struct WeightsTile {
  const float* x = nullptr;  // that the first pixel meets
  int64_t x_image = 0, x_row = 0, x_pixel = 0;
  const float* dy = nullptr;  // [images][rows][pixels][b], but for gaps
  int64_t dy_image = 0, dy_row = 0;
  int64_t images = 0, rows = 0, pixels = 0;
  float* sums = nullptr;  // [elements][b], to which is added
};

// For that many elements of the image, of which at most most_elements() fit into registers.
using WeightsTileFunction = void (*)(const WeightsTile& tile);
WeightsTileFunction weights_tile_function(int64_t elements);
int64_t most_elements();

// Adds up dy * x over `pixels` of one block, those of x `step` floats apart: sum is [b].
void add_products(const float* x, int64_t step, const float* dy, int64_t pixels, float* sum);

// Adds up `pixels` neighbours of one block: sum is [b].
void add_pixels(const float* dy, int64_t pixels, float* sum);

}  // namespace shoal::cpu
