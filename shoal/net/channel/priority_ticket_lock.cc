// A ticket lock with two queues. The holder is followed by the first of the express lane or, if
// that is empty, by the first of the ordinary one. Express waiters may starve ordinary ones; urgent
// frames are small and rare. Every change wakes all waiters, of which there are few.
#include "shoal/net/channel/priority_ticket_lock.h"

#include <algorithm>

namespace shoal::net {

bool PriorityTicketLock::may_go(Lane lane, uint64_t ticket) const {
  const auto& express = waiting_[static_cast<size_t>(Lane::kExpress)];
  const auto& own = waiting_[static_cast<size_t>(lane)];
  return !taken_ && own.front() == ticket && (lane == Lane::kExpress || express.empty());
}

PriorityTicketLock::Got PriorityTicketLock::take(Lane lane, Deadline deadline) {
  std::unique_lock lock(mutex_);
  auto& own = waiting_[static_cast<size_t>(lane)];
  const uint64_t ticket = next_ticket_++;
  own.push_back(ticket);
  const bool woken =
      changed_.wait_until(lock, deadline, [&] { return stopped_ || may_go(lane, ticket); });
  const bool mine = woken && !stopped_;
  own.erase(std::ranges::find(own, ticket));
  if (mine) {
    taken_ = true;
    return Got::kTurn;
  }
  changed_.notify_all();  // the next in line may go now
  return stopped_ ? Got::kStopped : Got::kDeadline;
}

void PriorityTicketLock::give() {
  {
    const std::lock_guard lock(mutex_);
    taken_ = false;
  }
  changed_.notify_all();
}

void PriorityTicketLock::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

}  // namespace shoal::net
