// SIGINT and SIGTERM as a request to end in order.
#pragma once

#include <atomic>

namespace shoal::cli {

// Becomes true with the first of these signals, after which a step ends and what is known is
// written; the second one kills. Never null.
const std::atomic<bool>* cancel_on_signals();

}  // namespace shoal::cli
