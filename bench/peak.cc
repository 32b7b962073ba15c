// bench_peak THREADS: one JSON line with the fp32 peak that so many threads reach together.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/fma_peak.h"

int main(int argc, char** argv) {
  shoal::ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 1);
  // The best of many: what else runs on the machine only ever takes away.
  double best = 0;
  for (int i = 0; i < 21; ++i) best = std::max(best, shoal::bench::fma_gflops(pool));
  std::printf("{\"bench\":\"peak\",\"threads\":%d,\"gflops\":%.1f}\n", pool.threads(), best);
}
