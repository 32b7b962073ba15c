#include "bench/fma_peak.h"

#include <atomic>
#include <chrono>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/fma_peak.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains: more than latency times throughput of any core, and no more than 16 registers.
constexpr int kChains = 12;

// Returns the number of floating-point operations; `sink` keeps the compiler from dropping them.
double multiply_add(int rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  hn::Vec<decltype(d)> x[kChains];
  for (auto& v : x) v = hn::Iota(d, 1);
  for (int i = 0; i < rounds; ++i) {
    for (auto& v : x) v = hn::MulAdd(v, factor, term);
  }
  auto sum = x[0];
  for (const auto& v : x) sum = hn::Add(sum, v);
  *sink = hn::GetLane(sum);
  return 2.0 * kChains * rounds * static_cast<double>(hn::Lanes(d));
}

}  // namespace
}  // namespace shoal::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::bench {

HWY_EXPORT(multiply_add);

double fma_gflops(ThreadPool& pool) {
  const int64_t pieces = pool.threads() == 1 ? 1 : 16 * pool.threads();
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<double> operations = 0;
  pool.parallel_for(pieces, [&](int64_t, int) {
    float sink = 0;
    const double done = HWY_DYNAMIC_DISPATCH(multiply_add)(200'000, &sink);
    if (sink != 0) operations += done;  // it never is
  });
  const auto end = std::chrono::steady_clock::now();
  return operations / std::chrono::duration<double>(end - begin).count() * 1e-9;
}

}  // namespace shoal::bench
#endif  // HWY_ONCE
