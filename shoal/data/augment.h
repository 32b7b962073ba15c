// Augmentation: images as they might have been, so that a network does not learn them by heart.
#pragma once

#include <cstdint>

#include "shoal/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

class RandomStream;

// The changes that an image may undergo, in this order. A value; `{}` changes nothing.
struct Augment {
  double crop = 1;    // a window of at least this share of each side, brought back to size
  int64_t shift = 0;  // moved by up to this many pixels each way; what comes in is black
  bool flip = false;  // left to right, every second image
  double noise = 0;   // normal, of this deviation, where 1 is the way from black to white

  friend bool operator==(const Augment&, const Augment&) = default;
};

// u8 [h, w, c] to u8 [h, w, c]: nothing but a function of the arguments. Never fails. The result
// may share memory with `image`. REQUIRES: an image of at least one pixel; without any change,
// which is the default, any tensor will do.
Tensor augment(const Tensor& image, const Augment& how, RandomStream random);

}  // namespace shoal

#pragma GCC visibility pop
