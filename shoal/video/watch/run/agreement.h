// How far two answers about a frame agree: boxes of one class that overlap by half or more, paired
// one to one, are the same.
//
//   F1 = 2 same / (2 same + different)
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// A sum over frames. A value.
struct Agreement {
  double same = 0, different = 0;  // different: boxes of either answer that have no partner

  // 1 where there is no box.
  double f1() const { return same + different > 0 ? 2 * same / (2 * same + different) : 1; }

  // Of more frames.
  Agreement& operator+=(const Agreement& other) {
    same += other.same;
    different += other.different;
    return *this;
  }
  // Weighted.
  friend Agreement operator*(double weight, const Agreement& one) {
    return {weight * one.same, weight * one.different};
  }
};

// Of two answers about one frame. Pure.
Agreement compare(const std::vector<detect::Detection>& a, const std::vector<detect::Detection>& b);

}  // namespace shoal::watch

#pragma GCC visibility pop
