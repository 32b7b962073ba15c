// Overload of something that answers one request at a time.
#include "shoal/cluster/chaos/processes/overload.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "shoal/base/status.h"

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

// Takes a millisecond for each request; refuses more than `room` at a time.
class Server {
 public:
  explicit Server(int room) : room_(room) {}

  OverloadReply ask() {
    const int there = ++there_;
    OverloadReply reply;
    if (there > room_) {
      reply.status = Status(Code::kExhausted, "full");
    } else {
      const std::lock_guard lock(mutex_);
      const auto end = std::chrono::steady_clock::now() + 1ms;
      while (std::chrono::steady_clock::now() < end) std::this_thread::sleep_until(end);
      reply.is_right = ++answered_ % 100 != 0;
    }
    --there_;
    return reply;
  }

 private:
  const int room_;
  std::atomic<int> there_ = 0;
  std::mutex mutex_;
  int answered_ = 0;
};

TEST(Overload, CountsWhatBecomesOfRequests) {
  Server server(20);
  int changes = 0;
  const OverloadReport report = run_overload(
      {.times = 10,
       .clients = 30,
       .seconds = 0.5,
       .calm_seconds = 0.2,
       .capacity_seconds = 0.2,
       .longest_recovery = 1},
      [&](auto, auto) { return server.ask(); },
      [&](bool is_on) {
        EXPECT_EQ(is_on, changes % 2 == 0);
        ++changes;
      });
  EXPECT_EQ(changes, 4) << "to measure the capacity with faults, and in overload";
  EXPECT_GT(report.faulty_capacity_per_s, 0);
  EXPECT_GT(report.capacity_per_s, 0);
  EXPECT_LE(report.capacity_per_s, 1000);
  EXPECT_GT(report.answered, 0u);
  EXPECT_GT(report.refused, 0u) << "twenty wait, and thirty ask";
  EXPECT_GT(report.wrong, 0u);
  EXPECT_EQ(report.failed + report.late, 0u);
  EXPECT_EQ(report.refusals.count(), report.refused);
  EXPECT_GT(report.calm.count(), 0u);
  EXPECT_GT(report.goodput(), 0);
}

TEST(Overload, NamesTheFirstFailure) {
  const OverloadReport report = run_overload(
      {.times = 2,
       .clients = 2,
       .seconds = 0.1,
       .calm_seconds = 0.1,
       .capacity_seconds = 0.1,
       .longest_recovery = 0},
      [](auto, auto) { return OverloadReply{Status(Code::kUnavailable, "nobody is here")}; });
  EXPECT_GT(report.failed, 0u);
  EXPECT_EQ(report.first_failure, "nobody is here");
  EXPECT_EQ(report.goodput(), 0);
}

}  // namespace
}  // namespace shoal::chaos
