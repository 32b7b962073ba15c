// A connection between workers, with at-most-once delivery. TCP does not say which of the sent
// pieces arrived when a connection breaks, and nothing is sent twice; so each plan that has sent
// over it must treat the peer as lost. A plan whose first send fails has lost nothing and may try a
// new connection. Only the sender thread opens connections; the watcher thread reads, because a
// break shows first in receive(), and because the peer says so there when it does not have a plan.
#include "shoal/cluster/peer_connection.h"

#include <utility>

#include "messages.pb.h"
#include "shoal/base/printable.h"
#include "shoal/cluster/catch_exhaustion.h"
#include "shoal/cluster/message_io.h"

namespace shoal::cluster {

PeerConnection::PeerConnection(std::string address, std::string name, net::Transport& transport,
                               Cut cut)
    : address_(std::move(address)),
      name_(std::move(name)),
      transport_(transport),
      cut_(std::move(cut)) {
  sender_.emplace();
}

PeerConnection::~PeerConnection() {
  close();
  sender_.reset();  // nothing connects after this
  if (watcher_.joinable()) watcher_.join();
}

void PeerConnection::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (channel_ != nullptr) channel_->close();
}

void PeerConnection::join_watcher() {
  // The sender does not open a closed connection again, so it does not use the watcher any more.
  if (watcher_.joinable()) watcher_.join();
}

void PeerConnection::expect() {
  {
    const std::lock_guard lock(mutex_);
    unreachable_ = {};
  }
  post([this] { static_cast<void>(open()); });
}

void PeerConnection::forget(uint64_t plan) {
  const std::lock_guard lock(mutex_);
  // The plan is over, or rejoins: either way it starts again with a clean slate.
  using_.erase(plan);
  lost_.erase(plan);
}

// The connection may have broken long before it is noticed here, because the peer was restarted. A
// plan that sends for the first time gets a second try over a new connection.
Status PeerConnection::send(uint64_t plan, const std::function<Status(net::Channel&)>& what) {
  constexpr int kTries = 2;
  Status sent;
  for (int i = 0; i < kTries; ++i) {
    SHOAL_ASSIGN(const ChannelPtr channel, open());
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      if (lost_.contains(plan)) {
        return Status(Code::kUnavailable, to_string(channel->peer()) + ": the connection broke");
      }
      is_first = using_.insert(plan).second;
    }
    sent = what(*channel);
    if (sent.code() != Code::kUnavailable) return sent;
    lose(channel, is_first ? std::optional(plan) : std::nullopt);
    if (!is_first) return sent;
  }
  return sent;
}

// Runs on the sender thread, as does everything else that changes the channel, except for its end.
Result<PeerConnection::ChannelPtr> PeerConnection::open() {
  {
    const std::lock_guard lock(mutex_);
    SHOAL_TRY(unreachable_);
    if (closed_) return Status(Code::kUnavailable, "this worker ends");
    if (channel_ != nullptr) return channel_;
  }
  if (watcher_.joinable()) watcher_.join();  // of the one before
  Result<ChannelPtr> opened = connect();
  // Inside the barrier: a thread is made.
  const Status used =
      opened.ok() ? catch_exhaustion([&] { return use(*opened); }) : opened.status();
  if (used.ok()) return opened;
  const std::lock_guard lock(mutex_);
  unreachable_ = used;
  return used;
}

// The address may belong to another member by now, which must get nothing of this plan.
Result<PeerConnection::ChannelPtr> PeerConnection::connect() const {
  return transport_.connect(address_, net::after(kConnectTimeout), name_);
}

Status PeerConnection::use(ChannelPtr channel) {
  const std::lock_guard lock(mutex_);
  watcher_ = std::thread([this, channel] { watch(channel); });
  channel_ = std::move(channel);
  // close() may have come while this connected without the lock. The watcher then ends at once.
  if (closed_) channel_->close();
  return {};
}

void PeerConnection::watch(const ChannelPtr& channel) {
  // Nothing that a peer says to a sender has a payload, so none is allocated.
  const net::Place no_payload = [](net::Bytes, size_t) -> Result<net::Buffer> {
    return Status(Code::kCorrupt, "a payload that was not asked for");
  };
  static_cast<void>(catch_exhaustion([&]() -> Status {
    for (;;) {
      SHOAL_ASSIGN(const net::Frame frame, channel->receive(net::Deadline::max(), no_payload));
      hear(channel, frame);
    }
  }));
  lose(channel, std::nullopt);
}

// A peer that does not have the plan dropped what was sent to it. The plan can then not rely on
// the peer, as if the connection had broken.
void PeerConnection::hear(const ChannelPtr& channel, const net::Frame& frame) {
  message::Message message;
  if (!parse(frame, message).ok() || !message.has_failed()) return;
  if (status_of(message.failed()).code() != Code::kUnavailable) return;
  const uint64_t plan = message.failed().plan();
  {
    const std::lock_guard lock(mutex_);
    if (channel_ != channel || using_.erase(plan) == 0) return;
    lost_.insert(plan);
  }
  cut_(plan, channel->peer().name);
}

void PeerConnection::lose(const ChannelPtr& channel, std::optional<uint64_t> spared) {
  std::set<uint64_t> plans;
  {
    const std::lock_guard lock(mutex_);
    // Sender and watcher may both notice the break; the first one reports it.
    if (channel_ != channel) return;
    channel_ = nullptr;
    plans = std::exchange(using_, {});
    if (spared) plans.erase(*spared);
    lost_.insert(plans.begin(), plans.end());
  }
  channel->close();
  // Without the lock: the callback takes locks of the worker.
  for (uint64_t plan : plans) cut_(plan, channel->peer().name);
}

}  // namespace shoal::cluster
