// Augmentation: images as they might have been, so that a network does not learn them by heart.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace shoal {

// The changes that an image may undergo, in this order. A value; `{}` changes nothing.
struct Augment {
  double crop = 1;    // a window of at least this share of each side, resized to the full size
  int64_t shift = 0;  // moved by up to this many pixels each way; what comes in is black
  bool flip = false;  // left to right, every second image
  double noise = 0;   // normal, of this deviation; 1 is the difference of black and white

  friend bool operator==(const Augment&, const Augment&) = default;
};

}  // namespace shoal

#pragma GCC visibility pop
