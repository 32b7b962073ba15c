// Products of a few rows with a large matrix, one JSON line per way and size: how fast the matrix
// is read, and the share of what a loop reaches that only reads it, measured between repetitions.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "bench/read_bandwidth.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/product/product.h"

namespace shoal::cpu {
namespace {

struct Setup {
  Setup(int64_t rows, int64_t columns, int64_t depth, ThreadPool& threads)
      : m(rows),
        n(columns),
        k(depth),
        pool(threads),
        x(m * k),
        w(packed_columns_size(k, n)),
        y(m * n),
        blocking(choose_blocking(m, n, k, {.right = true}, 1, pool.threads())),
        scratch(blocking.scratch_floats * pool.threads()) {
    std::fill(x.data(), x.data() + m * k, 0.5f);
    std::fill(w.data(), w.data() + packed_columns_size(k, n), 0.5f);
  }

  // w: [n, k]
  void dot() {
    const Dots dots{x.data(), k, m, k, w.data(), y.data(), n};
    pool.parallel_ranges(n, std::max<int64_t>((1 << 15) / k, 16),
                         [&](int64_t begin, int64_t end) { dot_rows(dots, begin, end); });
  }
  // w: [k, n]
  void add() {
    pool.parallel_ranges(n, std::max<int64_t>((1 << 15) / k, 16), [&](int64_t begin, int64_t end) {
      add_rows(x.data(), k, w.data(), n, begin, end, y.data());
    });
  }
  // w in panels
  void multiply_packed() {
    Product product;
    product.m = m;
    product.n = product.y_stride = n;
    product.k = k;
    product.left = {x.data(), k, 1};
    product.packed_right = w.data();
    product.y = y.data();
    pool.parallel_for(blocking.blocks(), [&](int64_t block, int slot) {
      multiply(product, blocking, block, scratch.data() + slot * blocking.scratch_floats);
    });
  }

  int64_t m, n, k;
  ThreadPool& pool;
  AlignedFloats x, w, y;
  Blocking blocking;
  AlignedFloats scratch;
};

void measure(const char* way, Setup& setup, const std::function<void()>& run) {
  const int64_t elements = setup.n * setup.k;
  const int repeats = static_cast<int>(std::max<int64_t>((4 << 20) / elements, 1));
  // The best of each: what else runs on the machine only ever takes away.
  double rate = 0, peak = 0;
  for (int i = 0; i < 15; ++i) {
    for (int r = 0; r < repeats; ++r) {
      peak = std::max(peak, bench::read_gb_per_s(setup.w.data(), elements, setup.pool));
    }
    const auto begin = std::chrono::steady_clock::now();
    for (int r = 0; r < repeats; ++r) run();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    rate = std::max(rate, static_cast<double>(elements * repeats) * sizeof(float) / spent.count());
  }
  rate *= 1e-9;
  std::printf(
      "{\"bench\":\"gemv\",\"way\":\"%s\",\"m\":%lld,\"n\":%lld,\"k\":%lld,\"threads\":%d,"
      "\"gb_per_s\":%.1f,\"read_gb_per_s\":%.1f,\"share\":%.3f}\n",
      way, static_cast<long long>(setup.m), static_cast<long long>(setup.n),
      static_cast<long long>(setup.k), setup.pool.threads(), rate, peak, rate / peak);
  std::fflush(stdout);
}

}  // namespace
}  // namespace shoal::cpu

int main(int argc, char** argv) {
  using shoal::cpu::measure;
  using shoal::cpu::Setup;
  shoal::ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 1);
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{4096, 9216}, {512, 512}}) {
    for (int64_t m : {1, 2, 4, 8, 16}) {
      Setup setup(m, n, k, pool);
      measure("dot", setup, [&] { setup.dot(); });
      if (m == 1) measure("add", setup, [&] { setup.add(); });
      measure("packed", setup, [&] { setup.multiply_packed(); });
    }
  }
}
