// Square matrix products, one JSON line per size: GFLOP/s, and the share of what the machine does
// in a loop of fused multiply-adds that touches no memory, measured between the repetitions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "bench/fma_peak.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/product/product.h"

namespace shoal::cpu {
namespace {

// Of one thread the time it really ran, which leaves out what else the machine does.
double now(int threads) {
  timespec time{};
  ::clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Setup {
  Setup(int64_t size, ThreadPool& threads)
      : n(size),
        pool(threads),
        a(n * n),
        b(n * n),
        y(n * n),
        right({b.data(), n, 1}),
        blocking(choose_blocking(n, n, n, {}, 1, pool.threads())),
        scratch(blocking.scratch_floats * pool.threads()) {
    for (AlignedFloats* factor : {&a, &b}) std::fill_n(factor->data(), n * n, 0.5f);
  }

  void run() {
    Product product;
    product.m = product.n = product.k = product.y_stride = n;
    product.left = {a.data(), n, 1};
    product.right = &right;
    product.y = y.data();
    pool.parallel_for(blocking.blocks(), [&](int64_t block, int slot) {
      multiply(product, blocking, block, scratch.data() + slot * blocking.scratch_floats);
    });
  }

  int64_t n;
  ThreadPool& pool;
  AlignedFloats a, b, y;
  RightMatrix right;
  Blocking blocking;
  AlignedFloats scratch;
};

void measure(int64_t n, ThreadPool& pool) {
  Setup setup(n, pool);
  const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n * n);
  const int repeats = std::max(1, static_cast<int>(3e8 / flops));
  // The best of each: what else runs on the machine only ever takes away.
  double rate = 0, peak = 0;
  for (int i = 0; i < 21; ++i) {
    peak = std::max(peak, bench::fma_gflops(pool));
    const double begin = now(pool.threads());
    for (int r = 0; r < repeats; ++r) setup.run();
    rate = std::max(rate, flops * repeats / (now(pool.threads()) - begin) * 1e-9);
  }
  std::printf(
      "{\"bench\":\"gemm\",\"n\":%lld,\"threads\":%d,\"gflops\":%.1f,\"peak_gflops\":%.1f,"
      "\"share\":%.3f}\n",
      static_cast<long long>(n), pool.threads(), rate, peak, rate / peak);
  std::fflush(stdout);
}

}  // namespace
}  // namespace shoal::cpu

int main(int argc, char** argv) {
  shoal::ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 1);
  for (int64_t n : {64, 128, 256, 512, 1024, 2048}) shoal::cpu::measure(n, pool);
}
