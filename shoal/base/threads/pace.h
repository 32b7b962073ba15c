// Pace: a thread that works for a share of the time only, as a slower core would seem to.
#pragma once

#include <chrono>

namespace shoal {

using Nanoseconds = std::chrono::nanoseconds;

// How long to rest so that what was worked is no more than `share` of the time that will have
// passed. Time in which the thread did not get to run counts as rest.
Nanoseconds rest_due(double share, Nanoseconds worked, Nanoseconds passed);

// Begins when it is made. All of it in one thread.
class Pace {
 public:
  explicit Pace(double share);  // in (0, 1]; 1 never rests

  // Rests what is due: all of it, or, while there is more work to come, only what is long enough to
  // be slept with some precision.
  void keep();
  void finish();

 private:
  Nanoseconds due() const;

  double share_;
  Nanoseconds work_began_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace shoal
