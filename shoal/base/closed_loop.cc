// A closed loop of clients. Threads start together behind a latch, so that thread creation is not
// measured, and keep latencies to themselves until the end, so that they share nothing but the
// request.
#include "shoal/base/closed_loop.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <latch>
#include <mutex>
#include <thread>

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

// Nearest rank: round(share * (n - 1)).
double percentile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

LoadReport report_load(std::vector<double> latencies, double seconds) {
  if (latencies.empty()) return {};
  std::ranges::sort(latencies);
  return {.requests = latencies.size(),
          .seconds = seconds,
          .requests_per_s = static_cast<double>(latencies.size()) / seconds,
          .p50_ms = percentile(latencies, 0.5),
          .p99_ms = percentile(latencies, 0.99)};
}

Result<LoadReport> run_closed_loop(size_t clients, std::chrono::duration<double> time,
                                   const std::function<Status()>& request) {
  std::mutex mutex;
  Status failure;
  std::vector<double> all;
  // Written before go.count_down(), read after go.wait(): the latch orders them.
  std::atomic<bool> failed = false;
  Clock::time_point start, last;
  std::latch ready(static_cast<std::ptrdiff_t>(clients)), go(1);
  const auto send = [&] {
    std::vector<double> latencies;
    ready.count_down();
    go.wait();
    Clock::time_point end;
    // do-while: every client sends one request, however short the time.
    do {
      const auto begin = Clock::now();
      const Status status = request();
      end = Clock::now();
      if (!status.ok()) {
        const std::scoped_lock lock(mutex);
        failure = failed.exchange(true) ? failure : status;
        return;
      }
      latencies.push_back(1e3 * seconds_between(begin, end));
    } while (!failed && end - start < time);
    const std::scoped_lock lock(mutex);
    all.insert(all.end(), latencies.begin(), latencies.end());
    last = std::max(last, end);
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < clients; ++i) threads.emplace_back(send);
    ready.wait();
    start = Clock::now();
    go.count_down();
  }
  SHOAL_TRY(failure);
  return report_load(std::move(all), seconds_between(start, last));
}

}  // namespace shoal
