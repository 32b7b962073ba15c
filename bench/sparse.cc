// Sparse products of a vector and a matrix against the dense one, one JSON line per form, size and
// density: the time of each kernel, and that of the kernel which is chosen by that of the fastest.
#include "shoal/cpu/product/sparse.h"

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

#include "shoal/cpu/aligned.h"
#include "shoal/cpu/cpu.h"
#include "shoal/graph/graph.h"
#include "shoal/ops/ops.h"

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
      double best = 1e12, of_chosen = 0;
      std::string times;
      for (const char* kernel : kKernels) {
        const Compiled made = compiled(graph, threads, kernel);
        std::vector<Tensor> y(1);
        const double us =
            best_time([&] { SHOAL_CHECK(made.executable->run(std::span(&x, 1), y, {}).ok()); });
        best = std::min(best, us);
        if (chosen == kernel) of_chosen = us;
        times += "\"" + std::string(kernel) + "_us\":" + std::to_string(us) + ",";
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
