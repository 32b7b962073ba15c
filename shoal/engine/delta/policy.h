// Policy: decides whether a frame is computed whole or by tiles, and what is compared then. Whole
// frames do not change kept values, which still fit the inputs kept with them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace shoal::delta {

class Policy {
 public:
  Policy(double most_changed, bool adapts) : most_changed_(most_changed), adapts_(adapts) {}

  // Whether to compute the next frame whole, given the share of its inputs that changed.
  bool is_whole(double changed);
  // Whether it will be whole whatever changed.
  bool is_waiting() const { return wait_ > 0; }
  // Forces the next frame to be whole.
  void wait() { wait_ = std::max<size_t>(wait_, 1); }
  // Records the time of a frame computed whole, or by tiles with this share of all
  // multiply-accumulates.
  void computed_whole(double ms);
  void computed_tiles(double share, double ms);

 private:
  // Tiles take longer than whole rows: from this share on, nothing is saved. Networks of many small
  // layers lose earlier, so times are measured, too.
  static constexpr double kMostShare = 0.85;
  static constexpr size_t kLosses = 3;  // in a row, after which tiles are given up
  // They are tried again after this many whole frames, which doubles each time that they lose.
  static constexpr size_t kLeastWait = 8, kMostWait = 128;

  const double most_changed_;
  const bool adapts_;
  double whole_ms_ = 0;  // of a whole frame; 0: not known
  size_t wholes_ = 0;    // frames that were computed whole
  size_t wait_ = 0;      // whole frames to come
  size_t backoff_ = kLeastWait;
  size_t losses_ = 0;        // frames by tiles that saved nothing, in a row
  bool is_settled_ = false;  // the last frame was computed by tiles
};

// Checking: decides whether to compare a layer's output with the kept one. Comparing costs as much
// as a cheap layer and gains nothing if nearly everything has changed.
class Checking {
 public:
  // Whether to compare in the next run.
  bool next();
  // Records the share of compared pixels that were close to the kept ones.
  void compared(double kept);

 private:
  static constexpr double kLeastKept = 0.125;
  // Runs without comparing, which doubles after each comparison in vain.
  static constexpr size_t kLeastWait = 4, kMostWait = 64;

  size_t wait_ = 0, backoff_ = kLeastWait;
};

}  // namespace shoal::delta
