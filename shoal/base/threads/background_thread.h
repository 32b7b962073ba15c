// Threads of low priority, for work that must not delay requests.
#pragma once

#include <functional>

namespace shoal {

// Calls `what` on a thread of low priority and waits for it: preparations must not slow down
// requests on the same cores. Threads that it starts inherit the priority, for good. Thread-safe.
void run_at_low_priority(const std::function<void()>& what);

}  // namespace shoal
