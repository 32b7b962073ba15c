// Gate: whether a frame is worth a look of the detector.
//
// The image is reduced to mean brightness per square. A square has changed if its mean differs by
// more than a threshold from that in the last frame looked at, so that slow changes add up. Global
// changes of light, the median of all differences, are removed first.
//
// The allowed change is learned from the stream. Each look shows how far the tracker's expectation
// agrees with the detector. Differences are taken to have come gradually in the skipped frames with
// changes; all other frames are taken to be right. That estimates the agreement with a detector on
// every frame. While it is above the wanted one, more squares may change, and below it fewer. Old
// frames fade. If nothing changes, the time to the next look doubles with each look that shows what
// was expected.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/model/tensor/tensor.h"
#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// The agreement of two answers about a frame: boxes of one class that overlap by half or more,
// paired one to one, are the same.
//
//   F1 = 2 same / (2 same + different)

// A sum over frames. A value.
struct Agreement {
  double same = 0, different = 0;  // different: boxes of either answer that have no partner

  // 1 without boxes.
  double f1() const { return same + different > 0 ? 2 * same / (2 * same + different) : 1; }

  // Of more frames.
  Agreement& operator+=(const Agreement& other) {
    same += other.same;
    different += other.different;
    return *this;
  }
  // Weighted.
  friend Agreement operator*(double weight, const Agreement& agreement) {
    return {weight * agreement.same, weight * agreement.different};
  }
};

// Of two answers about one frame. Pure.
Agreement compare(const std::vector<detect::Detection>& a, const std::vector<detect::Detection>& b);

// When a frame is worth a look. A value.
struct GateOptions {
  int64_t side = 32;        // of a square, in pixels
  float threshold = 8;      // levels of grey, of 255
  double least_share = 0;   // of squares that must have changed, more than this
  double agreement = 0.95;  // wanted, of the answers, as F1
  double growth = 1.1;  // of the share that may change, with a look that shows what was expected
  // Frames without a look: where something has changed, where nothing has, and at most.
  size_t longest_doubt = 4, first_rest = 32, longest = 150;
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
  explicit Gate(const GateOptions& options = {})
      : options_(options), rest_(first_rest()), share_(options.least_share) {}

  // Decides about the next frame, u8 [h, w, 3]. Another size than before is looked at, and what
  // must be.
  GateDecision decide(const Tensor& image, bool must_look = false);

  // What the look at the last frame showed: how far what was expected agrees with what was found.
  void learn(const Agreement& at_look);

 private:
  size_t first_rest() const { return std::min(options_.first_rest, options_.longest); }

  GateOptions options_;
  std::vector<float> seen_;  // means of the frame that was looked at last
  int64_t height_ = 0, width_ = 0;
  bool at_rest_ = false;      // nothing had changed then
  size_t without_ = 0;        // frames since then
  size_t doubtful_ = 0;       // those of them in which something had changed
  size_t skipped_ = 0;        // such frames before the last look
  size_t rest_;               // frames until the next look, where nothing changes
  double share_;              // of squares that may change
  Agreement estimated_ = {};  // of the frames so far, the last ones most
};

// The means of brightness over squares, row by row; those at the right and lower edge may be
// smaller. REQUIRES: u8 [h, w, 3], side > 0.
std::vector<float> brightness(const Tensor& image, int64_t side);

}  // namespace shoal::watch

#pragma GCC visibility pop
