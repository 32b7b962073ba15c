// The ceiling that kernels are measured against.
#pragma once

namespace shoal::bench {

// GFLOP/s of one thread in a loop of fused multiply-adds on registers alone.
double fma_gflops();

}  // namespace shoal::bench
