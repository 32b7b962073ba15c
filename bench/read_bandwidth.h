// What the machine reads from memory at best.
#pragma once

#include <cstdint>

#include "shoal/base/threads/thread_pool.h"

namespace shoal::bench {

// GB/s of one pass over n floats that does nothing with them but add them up.
double read_gb_per_s(const float* data, int64_t n, ThreadPool& pool);

}  // namespace shoal::bench
