// The precision of timers.
#pragma once

#include <sys/prctl.h>

namespace shoal {

// Lets sleeps and timed waits of the calling thread end when they should. By default Linux may end
// them 50 us later, to wake several threads at once.
inline void use_exact_timers() {
  static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1));  // nanosecond; zero would be the default
}

}  // namespace shoal
