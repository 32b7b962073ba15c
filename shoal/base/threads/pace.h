// Pace: makes a thread work for a share of the time only, like a slower core.
#pragma once

#include <chrono>

namespace shoal {

using Nanoseconds = std::chrono::nanoseconds;

// How long to rest so that `worked` is at most `share` of the time passed, the rest included. Time
// in which the thread did not get to run counts as rest.
Nanoseconds rest_due(double share, Nanoseconds worked, Nanoseconds passed);

// Begins when constructed. REQUIRES: used by one thread.
class Pace {
 public:
  explicit Pace(double share);  // in (0, 1]; 1 never rests

  // keep() rests only if enough is due to be slept with some precision; finish() rests all that is
  // due.
  void keep();
  void finish();

 private:
  Nanoseconds due() const;

  double share_;
  Nanoseconds work_began_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace shoal
