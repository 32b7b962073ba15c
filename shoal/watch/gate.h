// Gate: whether a frame is worth a look of the detector.
//
// The image is seen as means of brightness over squares. A square has changed if its mean differs
// by more than a threshold from that in the last frame that was looked at, not in the frame before:
// what changes slowly adds up until it is looked at. Light that changes everywhere alike is taken
// out first, as the median of all differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// When a frame is worth a look. A value.
struct GateOptions {
  int64_t side = 16;       // of a square, in pixels
  float threshold = 6;     // levels of grey, of 255
  double least_share = 0;  // of squares that must have changed, more than this
  size_t longest = 150;    // frames without a look
};

// About one frame.
struct GateDecision {
  bool look = true;
  double changed = 1;  // share of squares
};

// A value. Thread-compatible.
class Gate {
 public:
  // Looks at the first frame in any case.
  explicit Gate(const GateOptions& options = {}) : options_(options) {}

  // Decides about the next frame, u8 [h, w, 3]. Another size than before is looked at.
  GateDecision decide(const Tensor& image);

 private:
  GateOptions options_;
  std::vector<float> seen_;  // means of the frame that was looked at last
  int64_t height_ = 0, width_ = 0;
  size_t without_ = 0;  // frames since then
};

// The means of brightness over squares, row by row; those at the right and lower edge may be
// smaller. REQUIRES: u8 [h, w, 3], side > 0.
std::vector<float> brightness(const Tensor& image, int64_t side);

}  // namespace shoal::watch

#pragma GCC visibility pop
