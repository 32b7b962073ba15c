// The ceiling that kernels are measured against.
#pragma once

#include "shoal/base/threads/thread_pool.h"

namespace shoal::bench {

// GFLOP/s of a pool's threads together, in loops of fused multiply-adds on registers alone.
double fma_gflops(ThreadPool& pool);

}  // namespace shoal::bench
