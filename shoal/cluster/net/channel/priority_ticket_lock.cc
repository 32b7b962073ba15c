// A ticket lock with three queues. The next holder is the first of the express lane or, if that is
// empty, of the ordinary one, then of bulk. Express waiters may starve others; urgent frames are
// small and rare. Ordinary ones may not starve bulk: the peer would count as lost. Every change
// wakes all waiters, which are few.
#include "shoal/cluster/net/channel/priority_ticket_lock.h"

#include <algorithm>

namespace shoal::net {

// REQUIRES: a thread waits.
PriorityTicketLock::Lane PriorityTicketLock::next_lane() const {
  const auto waits = [&](Lane lane) { return !waiting_[static_cast<size_t>(lane)].empty(); };
  if (waits(Lane::kExpress)) return Lane::kExpress;
  if (waits(Lane::kBulk) && overtaken_ >= kPatience) return Lane::kBulk;
  return waits(Lane::kOrdinary) ? Lane::kOrdinary : Lane::kBulk;
}

bool PriorityTicketLock::may_go(Lane lane, uint64_t ticket) const {
  return !taken_ && next_lane() == lane && waiting_[static_cast<size_t>(lane)].front() == ticket;
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
    const bool overtakes =
        lane == Lane::kOrdinary && !waiting_[static_cast<size_t>(Lane::kBulk)].empty();
    if (lane != Lane::kExpress) overtaken_ = overtakes ? overtaken_ + 1 : 0;
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

size_t PriorityTicketLock::waiting() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& lane : waiting_) sum += lane.size();
  return sum;
}

}  // namespace shoal::net
