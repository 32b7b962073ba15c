// Sparse products of a vector and a matrix against the dense one, one JSON line per form, size and
// density, and the density below which the sparse form is faster: its cost grows with what is
// there, the dense one's does not.
#include "shoal/cpu/product/sparse.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "shoal/base/thread_pool.h"
#include "shoal/cpu/aligned.h"
#include "shoal/cpu/product/dots.h"

namespace shoal::cpu {
namespace {

// The best of several, in microseconds: what else runs on the machine only ever takes away.
double best_time(const std::function<void()>& run) {
  double best = 1e12;
  for (int i = 0; i < 25; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count());
  }
  return best;
}

// [n, k], with whole blocks or single elements left out.
AlignedFloats random_weights(int64_t n, int64_t k, double density, bool by_blocks) {
  AlignedFloats w(n * k);
  std::mt19937 rng(1);
  std::bernoulli_distribution is_there(density);
  for (int64_t group = 0; group < n; group += SparseBlocks::kWidth) {
    for (int64_t i = 0; i < k; ++i) {
      const bool block = is_there(rng);
      for (int64_t j = group; j < std::min(group + SparseBlocks::kWidth, n); ++j) {
        w.data()[j * k + i] = (by_blocks ? block : is_there(rng)) ? 0.5f : 0.0f;
      }
    }
  }
  return w;
}

void measure(int64_t n, int64_t k, ThreadPool& pool) {
  AlignedFloats x(k), y(n);
  std::fill_n(x.data(), k, 0.5f);
  auto in_pieces = [&](const auto& f) {
    const int64_t groups = n / SparseBlocks::kWidth;
    pool.parallel_ranges(groups, 4, [&](int64_t begin, int64_t end) {
      f(begin * SparseBlocks::kWidth, end * SparseBlocks::kWidth);
    });
  };
  for (const bool by_blocks : {false, true}) {
    for (const double density : {0.02, 0.05, 0.1, 0.2, 0.3}) {
      const AlignedFloats w = random_weights(n, k, density, by_blocks);
      const Matrix matrix{w.data(), 1, k};
      const SparseColumns columns(matrix, k, n);
      const SparseBlocks blocks(matrix, k, n);
      const Dots dots{x.data(), k, 1, k, w.data(), y.data(), n};
      const double dense = best_time(
          [&] { in_pieces([&](int64_t begin, int64_t end) { dot_rows(dots, begin, end); }); });
      const double sparse = best_time([&] {
        in_pieces([&](int64_t begin, int64_t end) {
          if (by_blocks) {
            blocks.multiply(x.data(), begin, end, y.data());
          } else {
            columns.multiply(x.data(), begin, end, y.data());
          }
        });
      });
      std::printf(
          "{\"bench\":\"sparse\",\"form\":\"%s\",\"n\":%lld,\"k\":%lld,\"threads\":%d,"
          "\"density\":%.2f,\"dense_us\":%.1f,\"sparse_us\":%.1f,\"break_even\":%.3f}\n",
          by_blocks ? "blocks" : "elements", static_cast<long long>(n), static_cast<long long>(k),
          pool.threads(), density, dense, sparse, density * dense / sparse);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace shoal::cpu

int main(int argc, char** argv) {
  shoal::ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 1);
  shoal::cpu::measure(512, 512, pool);
  shoal::cpu::measure(1024, 2048, pool);
  shoal::cpu::measure(4096, 9216, pool);
}
