// PriorityTicketLock: a lock with deadlines, in order of arrival, with an express lane and one for
// bulk. Thread-safe.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "shoal/cluster/net/frame.h"

namespace shoal::net {

class PriorityTicketLock {
 public:
  // Earlier lanes go first. After kPatience ordinary turns, a waiter of the bulk lane has the next.
  enum class Lane : uint8_t { kExpress, kOrdinary, kBulk };
  static constexpr int kPatience = 16;
  enum class Got : uint8_t { kTurn, kDeadline, kStopped };

  Got take(Lane lane, Deadline deadline);
  void give();
  // Ends the lock: no caller gets a turn any more, and waiters wake up.
  void stop();
  size_t waiting() const;  // callers that wait for their turn

 private:
  bool may_go(Lane lane, uint64_t ticket) const;
  Lane next_lane() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;
  bool stopped_ = false;
  uint64_t next_ticket_ = 0;
  std::array<std::deque<uint64_t>, 3> waiting_;  // by lane, in order of arrival
  int overtaken_ = 0;                            // ordinary turns since bulk began to wait
};

}  // namespace shoal::net
