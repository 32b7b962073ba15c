// Policy: whether a frame is computed whole or by tiles, and what is compared then. Whole frames
// leave the kept values as they are: they still fit the inputs that were kept with them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace shoal::delta {

class Policy {
 public:
  Policy(double most_changed, bool adapts) : most_changed_(most_changed), adapts_(adapts) {}

  // Whether to compute the next frame whole, of whose inputs this share changed.
  bool is_whole(double changed);
  // Whether it will be whole however little changed.
  bool is_waiting() const { return wait_ > 0; }
  // Lets the next frame be whole in any case.
  void wait() { wait_ = std::max<size_t>(wait_, 1); }
  // A frame was computed whole, or by tiles with this share of all multiply-accumulates, and took
  // so long.
  void computed_whole(double ms);
  void computed_tiles(double share, double ms);

 private:
  // Tiles take longer than whole rows: from this share on, nothing is saved. Networks of many small
  // layers lose earlier, which only a clock tells.
  static constexpr double kMostShare = 0.85;
  static constexpr size_t kLosses = 3;  // in a row, after which tiles are given up
  // They are tried again after this number of whole frames; each time that they lose, after twice
  // as many.
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

// Checking: whether what a layer computes is worth comparing with what was kept. Comparing takes as
// long as a cheap layer; where nearly all has changed anyway, nothing is gained by it.
class Checking {
 public:
  // Whether to compare in the next run.
  bool next();
  // This share of what was compared was close to what was kept.
  void compared(double kept);

 private:
  static constexpr double kLeastKept = 0.125;
  // Runs without comparing; each time that it was in vain, twice as many.
  static constexpr size_t kLeastWait = 4, kMostWait = 64;

  size_t wait_ = 0, backoff_ = kLeastWait;
};

}  // namespace shoal::delta
