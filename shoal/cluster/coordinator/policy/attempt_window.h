// AttemptWindow: how many attempts of a plan may be in progress at once, and how long others have
// to wait.
//
// More attempts than keep the workers busy give no more answers: they only take memory on workers
// and make each other wait. The limit therefore follows from the plan.
#pragma once

#include <chrono>
#include <cstddef>

#include "shoal/plan/plan.h"

namespace shoal::cluster {

// The attempts that keep all workers of a plan busy, with some to spare. Below the number that
// workers accept (deployment.cc).
size_t window_of(const plan::Plan& plan);

// Not thread-safe.
class AttemptWindow {
 public:
  using Duration = std::chrono::steady_clock::duration;

  explicit AttemptWindow(size_t limit = 1) : limit_(limit) {}

  bool has_room() const { return under_way_ < limit_; }
  size_t limit() const { return limit_; }
  size_t under_way() const { return under_way_; }

  void begin() { ++under_way_; }
  void end() { --under_way_; }  // REQUIRES: one that began
  // An attempt took this long, or was given up after it.
  void learn(Duration took);

  // The time until `attempts` more can begin, and until they end. A guess before the first learn().
  Duration until_begin(size_t attempts) const;
  Duration until_end(size_t attempts) const { return until_begin(attempts) + usual_; }

 private:
  size_t limit_;
  size_t under_way_ = 0;
  Duration usual_{0};  // that an attempt takes, lately; 0: not known
};

}  // namespace shoal::cluster
