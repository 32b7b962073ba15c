// Sparse products of a vector and a matrix against the dense one, one JSON line per form, size and
// density: the time of each kernel, and that of the kernel which is chosen by that of the fastest.
#include "shoal/engine/cpu/product/sparse.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// The best of several runs of each, in microseconds: what else runs on the machine only ever takes
// away. They take turns, so that what it takes away it takes from all of them.
std::vector<double> best_times(const std::vector<std::function<void()>>& runs) {
  constexpr int kRounds = 50;
  std::vector<double> best(runs.size(), 1e12);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      runs[i]();  // weights of its own back into the cache, as far as they fit
      const auto begin = std::chrono::steady_clock::now();
      runs[i]();
      const std::chrono::duration<double, std::micro> spent =
          std::chrono::steady_clock::now() - begin;
      best[i] = std::min(best[i], spent.count());
    }
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

// A product with this weight, alone in a network.
Graph layer_of(const AlignedFloats& w, int64_t n, int64_t k) {
  Graph graph;
  const Tensor weight =
      Tensor::of<float>({n, k}, std::span<const float>(w.data(), static_cast<size_t>(n * k)));
  const ValueId x = graph.add_input("x", {DType::kF32, {1, k}});
  auto y = graph.add(ops::gemm, {x, graph.add_constant("w", weight)}, {{"transB", int64_t{1}}});
  graph.mark_output(*y);
  return graph;
}

struct Compiled {
  std::unique_ptr<Device> device;
  std::unique_ptr<Executable> executable;
};

Compiled compiled(const Graph& graph, int threads, const char* kernel) {
  Compiled made{make_cpu_device({.threads = threads, .tune = Tune::kFast, .prefer = kernel}),
                nullptr};
  auto executable = made.device->compile(graph);
  SHOAL_CHECK(executable.ok());
  made.executable = *std::move(executable);
  return made;
}

// Each kernel by itself, and the one that is chosen.
void measure(int64_t n, int64_t k, int threads) {
  constexpr std::array kKernels = {"gemv", "sparse", "block_sparse"};
  Tensor x({DType::kF32, {1, k}});
  std::ranges::fill(x.data<float>(), 0.5f);
  for (const bool by_blocks : {false, true}) {
    for (const double density : {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6}) {
      const Graph graph = layer_of(random_weights(n, k, density, by_blocks), n, k);
      const std::string chosen(compiled(graph, threads, "").executable->kernel_of(0).name);
      std::vector<Compiled> made;
      std::vector<std::function<void()>> runs;
      for (const char* kernel : kKernels) made.push_back(compiled(graph, threads, kernel));
      for (const Compiled& one : made) {
        runs.emplace_back([&x, &one] {
          std::vector<Tensor> y(1);
          SHOAL_CHECK(one.executable->run(std::span(&x, 1), y, {}).ok());
        });
      }
      const std::vector<double> us = best_times(runs);
      const double best = *std::ranges::min_element(us);
      double of_chosen = 0;
      std::string times;
      for (size_t i = 0; i < kKernels.size(); ++i) {
        if (chosen == kKernels[i]) of_chosen = us[i];
        times += "\"" + std::string(kKernels[i]) + "_us\":" + std::to_string(us[i]) + ",";
      }
      std::printf(
          "{\"bench\":\"sparse\",\"form\":\"%s\",\"n\":%lld,\"k\":%lld,\"threads\":%d,"
          "\"density\":%.2f,%s\"chosen\":\"%s\",\"by_the_fastest\":%.3f}\n",
          by_blocks ? "blocks" : "elements", static_cast<long long>(n), static_cast<long long>(k),
          threads, density, times.c_str(), chosen.c_str(), of_chosen / best);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace shoal::cpu

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  shoal::cpu::measure(512, 512, threads);
  shoal::cpu::measure(1024, 2048, threads);
  shoal::cpu::measure(4096, 9216, threads);
}
