// PriorityTicketLock: a lock with deadlines, in order of arrival, and with an express lane.
// Thread-safe.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "shoal/net/frame.h"

namespace shoal::net {

class PriorityTicketLock {
 public:
  enum class Lane : uint8_t { kExpress, kOrdinary };  // the first before the second
  enum class Got : uint8_t { kTurn, kDeadline, kStopped };

  Got take(Lane lane, Deadline deadline);
  void give();
  // Ends the lock: no caller gets a turn any more, and waiters wake up.
  void stop();

 private:
  bool may_go(Lane lane, uint64_t ticket) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;
  bool stopped_ = false;
  uint64_t next_ticket_ = 0;
  std::array<std::deque<uint64_t>, 2> waiting_;  // by lane, in order of arrival
};

}  // namespace shoal::net
