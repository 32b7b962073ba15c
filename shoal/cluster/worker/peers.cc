#include "shoal/cluster/worker/peers.h"

#include <utility>
#include <vector>

#include "shoal/base/text/printable.h"
#include "shoal/base/threads/notification.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {

// A connection between workers, with at-most-once delivery. TCP does not say which of the sent
// pieces arrived when a channel breaks, and nothing is sent twice; so each plan that has sent over
// it must treat the peer as lost. A plan whose first send fails has lost nothing and may try a new
// channel. The reader of a channel notices and reports its end: a sender that fails only closes it.
void PeerChannels::add(ChannelPtr channel, OpenedBy by) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({std::move(channel), by});
}

void PeerChannels::remove(const ChannelPtr& channel) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.channel == channel; });
}

bool PeerChannels::empty() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

PeerChannels::ChannelPtr PeerChannels::newest() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty() ? nullptr : entries_.back().channel;
}

void PeerChannels::close_ours() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const Entry& entry) {
    if (entry.by == OpenedBy::kPeer) return false;
    entry.channel->close();
    return true;
  });
}

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

namespace {

constexpr size_t kMost = 1024;  // each has two threads

// New references are made under the lock only, so an object with one reference keeps having one.
template <class Key, class Value>
void take_unused(std::map<Key, std::shared_ptr<Value>>& from,
                 std::vector<std::shared_ptr<Value>>& to) {
  std::erase_if(from, [&](auto& entry) {
    if (entry.second.use_count() > 1) return false;
    to.push_back(std::move(entry.second));
    return true;
  });
}

// Returns when the tasks that were posted before have run. They hold nothing then.
template <class Sender>
void run_all_tasks(Sender& sender) {
  Notification reached;
  sender.post([&reached] { reached.notify(); });
  reached.wait();
}

}  // namespace

Result<std::shared_ptr<PeerConnection>> Peers::at(const std::string& address,
                                                  const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto it = peers_.find({address, name});
  if (it != peers_.end()) return it->second;
  if (peers_.size() >= kMost) return Status(Code::kExhausted, "too many peers at once");
  SHOAL_ASSIGN(auto channels, channels_with(name));
  const auto dialler = name < self_ ? PeerConnection::Dialler::kPeer : PeerConnection::Dialler::kUs;
  // Made before it is inserted: there may be no thread for it.
  auto made = std::make_shared<PeerConnection>(
      std::move(channels), [this, address, name] { return dial(address, name); }, dialler);
  return peers_.emplace(std::pair(address, name), std::move(made)).first->second;
}

Result<std::shared_ptr<PeerChannels>> Peers::with(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return channels_with(name);
}

// REQUIRES: mutex_ is held.
Result<std::shared_ptr<PeerChannels>> Peers::channels_with(const std::string& name) {
  const auto it = channels_.find(name);
  if (it != channels_.end()) return it->second;
  if (channels_.size() >= kMost) return Status(Code::kExhausted, "too many peers at once");
  return channels_.emplace(name, std::make_shared<PeerChannels>(name)).first->second;
}

// The address may belong to another member by now, which must get nothing of a plan.
Result<Peers::ChannelPtr> Peers::dial(const std::string& address, const std::string& name) {
  if (closed_) return Status(Code::kUnavailable, "this worker ends");
  SHOAL_ASSIGN(ChannelPtr channel, transport_.connect(address, net::after(kConnectTimeout), name));
  SHOAL_TRY(admit_(channel));
  return channel;
}

std::shared_ptr<TaskThread> Peers::to(const ChannelPtr& visitor) {
  const std::lock_guard lock(mutex_);
  auto it = visitors_.find(visitor);
  if (it == visitors_.end()) {
    it = visitors_.emplace(visitor, std::make_shared<TaskThread>()).first;
  }
  return it->second;
}

void Peers::add(const ChannelPtr& channel, OpenedBy by) {
  // An owner's machine may work as well as coordinate: only a dialled peer is its worker.
  if (by == OpenedBy::kPeer && channel->peer().role != net::Role::kWorker) return;
  const std::lock_guard lock(mutex_);
  // Where there are too many, it is read and not sent over.
  auto channels = channels_with(channel->peer().name);
  if (channels.ok()) (*channels)->add(channel, by);
}

std::set<uint64_t> Peers::remove(const ChannelPtr& channel) {
  std::set<uint64_t> plans;
  const std::lock_guard lock(mutex_);
  const auto it = channels_.find(channel->peer().name);
  if (it == channels_.end()) return plans;
  it->second->remove(channel);
  for (const auto& [place, peer] : peers_) plans.merge(peer->lose(channel));
  if (it->second.use_count() == 1 && it->second->empty()) channels_.erase(it);
  return plans;
}

bool Peers::lose(const ChannelPtr& channel, uint64_t plan) {
  bool has_sent = false;
  const std::lock_guard lock(mutex_);
  for (const auto& [place, peer] : peers_) has_sent |= peer->lose(channel, plan);
  return has_sent;
}

void Peers::close_unused() {
  {
    std::vector<std::shared_ptr<PeerConnection>> peers;  // both end after the lock
    std::vector<std::shared_ptr<TaskThread>> senders;
    const std::lock_guard lock(mutex_);
    take_unused(peers_, peers);
    take_unused(visitors_, senders);
  }
  // What a connection was opening when it ended is among the channels now.
  const std::lock_guard lock(mutex_);
  std::erase_if(channels_, [](const auto& entry) {
    if (entry.second.use_count() > 1) return false;
    entry.second->close_ours();
    return entry.second->empty();
  });
}

void Peers::finish() {
  std::vector<std::shared_ptr<PeerConnection>> peers;
  std::vector<std::shared_ptr<TaskThread>> senders;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [place, peer] : peers_) peers.push_back(peer);
    for (const auto& [visitor, sender] : visitors_) senders.push_back(sender);
  }
  for (const auto& peer : peers) run_all_tasks(*peer);
  for (const auto& sender : senders) run_all_tasks(*sender);
}

void Peers::close() { closed_ = true; }

}  // namespace shoal::cluster
