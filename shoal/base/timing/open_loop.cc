#include "shoal/base/timing/open_loop.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

// Times of one client: every interval, from an offset on that spreads the clients.
class Timetable {
 public:
  Timetable(Clock::time_point begin, const OpenLoopOptions& options, size_t client)
      : interval_(static_cast<double>(options.clients) / options.rate),
        next_(begin + to_clock(interval_ * (static_cast<double>(client) /
                                            static_cast<double>(options.clients)))) {}

  Clock::time_point next() const { return next_; }
  // Goes on to the first time that has not passed.
  void advance(Clock::time_point now) {
    const std::chrono::duration<double> behind = now - next_;
    next_ += to_clock(interval_ * std::max(1.0, std::ceil(behind / interval_)));
  }

 private:
  static Clock::duration to_clock(std::chrono::duration<double> time) {
    return std::chrono::duration_cast<Clock::duration>(time);
  }

  const std::chrono::duration<double> interval_;
  Clock::time_point next_;
};

}  // namespace

uint64_t run_open_loop(const OpenLoopOptions& options,
                       const std::function<void(size_t client)>& request) {
  std::atomic<uint64_t> sent = 0;
  std::atomic<size_t> under_way = 0;
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration_cast<Clock::duration>(options.time);
  const auto send = [&](size_t client) {
    for (Timetable times(begin, options, client); times.next() < end; times.advance(Clock::now())) {
      std::this_thread::sleep_until(times.next());
      const bool has_room = ++under_way <= options.most_at_once || options.most_at_once == 0;
      if (has_room) {
        ++sent;
        request(client);
      }
      --under_way;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < options.clients; ++i) threads.emplace_back(send, i);
  }
  return sent;
}

}  // namespace shoal
