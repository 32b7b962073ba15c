// What lets others go first.
#pragma once

#include <functional>

namespace shoal {

// Does it on a thread that lets others go first, and waits for it: preparations must not slow down
// who answers on the same cores. Threads that it starts let others go first, too, and for good.
void run_at_low_priority(const std::function<void()>& what);

}  // namespace shoal
