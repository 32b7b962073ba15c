// How well objects were followed, as MOT challenges and TrackEval define it.
//
// CLEAR (Bernardin and Stiefelhagen 2008). In each frame, true and shown boxes are paired one to
// one at an overlap of 0.5 or more: pairs of the last frame first, then by overlap. With the misses
// FN, the false alarms FP and the identity switches IDSW of true objects:
//
//   MOTA = 1 - (FN + FP + IDSW) / truths      MOTP = mean overlap of the pairs
//
// Identity (Ristani et al. 2016). True objects and identities are paired once for the whole stream,
// to maximise IDTP, the frames in which pairs overlap:
//
//   IDF1 = 2 IDTP / (truths + shown)
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::track {

// A box of an object that can be told from others.
struct Identified {
  int64_t id = 0;
  detect::Box box = {};
};

// Boxes by frame, from 0.
using Identities = std::map<size_t, std::vector<Identified>>;

// The sum of the frames seen so far. A value. Thread-compatible.
class MotMetrics {
 public:
  static constexpr float kLeastOverlap = 0.5F;

  // Counts the next frame. REQUIRES: an id is in a frame once, in `truth` and in `shown`.
  void add(const std::vector<Identified>& truth, const std::vector<Identified>& shown);

  // Counts.
  size_t frames() const { return frames_; }
  size_t truths() const { return truths_; }
  size_t shown() const { return shown_; }
  size_t misses() const { return truths_ - hits_; }
  size_t false_alarms() const { return shown_ - hits_; }
  size_t switches() const { return switches_; }

  // Percent; 0 for no boxes.
  double mota() const;
  double motp() const;
  double idf1() const;

 private:
  size_t frames_ = 0, truths_ = 0, shown_ = 0, hits_ = 0, switches_ = 0;
  double overlaps_ = 0;
  std::map<int64_t, int64_t> last_;     // of a true object: the identity that it was paired with
  std::map<int64_t, int64_t> present_;  // the same, only of the frame before
  std::map<std::pair<int64_t, int64_t>, size_t> together_;  // frames, by true object and identity
};

// Lines "frame, id, left, top, width, height, confidence, ..." with frames from 1, as MOT writes
// them. Lines of confidence 0 do not count in ground truth and are left out. kCorrupt, naming file
// and line, for any other line.
Result<Identities> read_identities(const std::filesystem::path& path);

}  // namespace shoal::track

#pragma GCC visibility pop
