// How exactly timers of a thread expire.
#pragma once

#include <sys/prctl.h>

namespace shoal {

// Lets sleeps and timed waits of the calling thread end when they should. By default Linux lets
// them end up to 50 us later, so that it can wake several threads at once.
inline void use_exact_timers() {
  static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1));  // nanosecond; zero would be the default
}

}  // namespace shoal
