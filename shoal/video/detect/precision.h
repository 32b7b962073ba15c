// Average precision of detections, as COCO defines it.
//
// For a class and a least overlap, the detections of all images are taken from the best score down.
// One is right if it overlaps a true box of its image and class that no better one has matched; it
// matches the one it overlaps most. The average precision is the mean, over 101 recalls from 0 to
// 1, of the best precision at that recall or more. mAP is its mean over the classes that occur, and
// over the overlaps 0.50, 0.55, ... 0.95.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::detect {

// A true box.
struct Truth {
  int64_t label = 0;
  Box box = {};
};

// The sum of the images seen so far. A value. Thread-compatible.
class Precision {
 public:
  static constexpr size_t kMost = 100;  // detections of an image that count, the best
  static constexpr size_t kOverlaps = 10;

  // Counts one image. REQUIRES: `detections` is in descending order of scores.
  void add(const std::vector<Detection>& detections, const std::vector<Truth>& truth);

  // How many were counted.
  size_t images() const { return images_; }
  // Percent; 0 if there was nothing to find.
  double map50() const { return mean(0, 1); }
  double map() const { return mean(0, kOverlaps); }
  // Of one class, at overlap 0.5 + 0.05 `step`.
  double average_precision(int64_t label, size_t step) const;

 private:
  struct Verdict {
    float score;
    std::vector<bool> right;  // by overlap
  };
  struct Class {
    size_t truths = 0;
    std::vector<Verdict> verdicts;
  };
  double mean(size_t first, size_t last) const;

  size_t images_ = 0;
  std::map<int64_t, Class> classes_;
};

}  // namespace shoal::detect

#pragma GCC visibility pop
