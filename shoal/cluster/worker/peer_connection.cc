// A connection between workers, with at-most-once delivery. TCP does not say which of the sent
// pieces arrived when a channel breaks, and nothing is sent twice; so each plan that has sent over
// it must treat the peer as lost. A plan whose first send fails has lost nothing and may try a new
// channel. Whoever reads a channel notices its end, and reports it: a sender that fails only closes
// it.
#include "shoal/cluster/worker/peer_connection.h"

#include <utility>

#include "shoal/base/text/printable.h"

namespace shoal::cluster {

PeerConnection::PeerConnection(std::shared_ptr<PeerChannels> channels, Dial dial, Dialler dialler)
    : channels_(std::move(channels)), dial_(std::move(dial)), dialler_(dialler) {}

void PeerConnection::expect(uint64_t plan, bool peer_sends) {
  // By a task: a connect that is going on, and fails, does not count against the peer after it, nor
  // does what the plan sends late after it was ended, before it is started again.
  post([this, plan, peer_dials = peer_sends && dialler_ == Dialler::kPeer] {
    forget(plan);
    unreachable_ = {};
    if (!peer_dials) static_cast<void>(open());
  });
}

void PeerConnection::forget(uint64_t plan) {
  const std::lock_guard lock(mutex_);
  sent_by_.erase(plan);
}

// The channel may have broken long before it is noticed here, because the peer was restarted. A
// plan that sends for the first time gets a second try over a new one.
Status PeerConnection::send(uint64_t plan, const std::function<Status(net::Channel&)>& what) {
  constexpr int kTries = 2;
  Status sent;
  for (int i = 0; i < kTries; ++i) {
    SHOAL_ASSIGN(const Route route, route_of(plan));
    sent = what(*route.channel);
    if (sent.code() != Code::kUnavailable) return sent;
    channels_->remove(route.channel);
    if (route.is_first) {
      const std::lock_guard lock(mutex_);
      // Unless its reader was quicker, and has reported the plan.
      std::erase_if(sent_by_, [&](const auto& entry) {
        return entry.first == plan && entry.second == route.channel;
      });
    }
    route.channel->close();
    if (!route.is_first) return sent;
  }
  return sent;
}

Result<PeerConnection::Route> PeerConnection::route_of(uint64_t plan) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = sent_by_.find(plan);
    if (it != sent_by_.end()) {
      if (it->second != nullptr) return Route{it->second, false};
      return Status(Code::kUnavailable, printable(name()) + ": the connection broke");
    }
  }
  SHOAL_ASSIGN(ChannelPtr channel, open());
  const std::lock_guard lock(mutex_);
  sent_by_[plan] = channel;
  return Route{std::move(channel), true};
}

// Runs on the sender thread.
Result<PeerConnection::ChannelPtr> PeerConnection::open() {
  if (ChannelPtr channel = channels_->newest()) return channel;
  SHOAL_TRY(unreachable_);
  Result<ChannelPtr> dialled = dial_();
  if (dialled.ok()) return dialled;
  unreachable_ = dialled.status();
  // The peer may have connected meanwhile.
  if (ChannelPtr channel = channels_->newest()) return channel;
  return unreachable_;
}

std::set<uint64_t> PeerConnection::lose(const ChannelPtr& channel) {
  std::set<uint64_t> plans;
  const std::lock_guard lock(mutex_);
  for (auto& [plan, by] : sent_by_) {
    if (by != channel) continue;
    by = nullptr;
    plans.insert(plan);
  }
  return plans;
}

bool PeerConnection::lose(const ChannelPtr& channel, uint64_t plan) {
  const std::lock_guard lock(mutex_);
  const auto it = sent_by_.find(plan);
  if (it == sent_by_.end() || it->second != channel) return false;
  it->second = nullptr;
  return true;
}

}  // namespace shoal::cluster
