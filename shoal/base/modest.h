// What lets others go first.
#pragma once

#include <functional>

namespace shoal {

// Does it on a thread of low priority, and waits for it: preparations must not slow down who
// answers on the same cores. Threads that it starts are of low priority, too.
void run_modestly(const std::function<void()>& what);

}  // namespace shoal
