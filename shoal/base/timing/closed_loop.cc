// A closed loop of clients. Threads start together behind a latch, so that thread creation is not
// measured, and keep latencies to themselves until the end, so that they share nothing but the
// request.
#include "shoal/base/timing/closed_loop.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Result<LoadReport> run_closed_loop(size_t clients, std::chrono::duration<double> time,
                                   const std::function<Status()>& request) {
  std::mutex mutex;
  Status failure;
  LatencyRecorder all;
  // Written before go.count_down(), read after go.wait(): the latch orders them.
  std::atomic<bool> failed = false;
  Clock::time_point start, last;
  std::latch ready(static_cast<std::ptrdiff_t>(clients)), go(1);
  const auto send = [&] {
    LatencyRecorder latencies;
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
      latencies.add(1e3 * seconds_between(begin, end));
    } while (!failed && end - start < time);
    const std::scoped_lock lock(mutex);
    all += latencies;
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
  return LoadReport{std::move(all), seconds_between(start, last)};
}

Result<LatencyRecorder> time_runs(std::chrono::duration<double> time,
                                  const std::function<Status()>& request,
                                  const std::function<void(double seconds)>& progress) {
  constexpr uint64_t kFewest = 3;
  LatencyRecorder latencies;
  const auto start = Clock::now();
  double passed = 0;
  while (latencies.count() < kFewest || passed < time.count()) {
    const auto begin = Clock::now();
    SHOAL_TRY(request());
    const auto end = Clock::now();
    latencies.add(1e3 * seconds_between(begin, end));
    passed = seconds_between(start, end);
    if (progress) progress(passed);
  }
  return latencies;
}

}  // namespace shoal
