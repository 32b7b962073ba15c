#include "bench/read_bandwidth.h"

#include <atomic>
#include <chrono>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/read_bandwidth.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Four streams, which no machine we measured reads slower than one.
float sum(const float* data, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t quarter = n / 4 / lanes * lanes;
  auto a = hn::Zero(d), b = a, c = a, e = a;
  for (int64_t i = 0; i < quarter; i += lanes) {
    a = hn::Add(a, hn::LoadU(d, data + i));
    b = hn::Add(b, hn::LoadU(d, data + quarter + i));
    c = hn::Add(c, hn::LoadU(d, data + 2 * quarter + i));
    e = hn::Add(e, hn::LoadU(d, data + 3 * quarter + i));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

}  // namespace
}  // namespace shoal::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::bench {

HWY_EXPORT(sum);

double read_gb_per_s(const float* data, int64_t n, ThreadPool& pool) {
  static std::atomic<float> sink;  // keeps the compiler from dropping the sums
  const auto begin = std::chrono::steady_clock::now();
  pool.parallel_ranges(n, 1 << 16, [&](int64_t from, int64_t to) {
    sink = HWY_DYNAMIC_DISPATCH(sum)(data + from, to - from);
  });
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(n) * sizeof(float) / spent.count() * 1e-9;
}

}  // namespace shoal::bench
#endif  // HWY_ONCE
