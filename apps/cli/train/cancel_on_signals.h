// SIGINT and SIGTERM as a request to end in order.
#pragma once

#include <atomic>

namespace shoal::cli {

// Becomes true with the first of these signals: the current step is finished and the results so far
// are written. The second one kills. Never null.
const std::atomic<bool>* cancel_on_signals();

}  // namespace shoal::cli
