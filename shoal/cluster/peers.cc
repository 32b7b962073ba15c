#include "shoal/cluster/peers.h"

#include <vector>

#include "shoal/base/notification.h"

namespace shoal::cluster {
namespace {

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

std::shared_ptr<PeerConnection> Peers::at(const std::string& address) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PeerConnection>& peer = peers_[address];
  if (peer == nullptr) peer = std::make_shared<PeerConnection>(address, transport_, cut_);
  peer->expect();
  return peer;
}

std::shared_ptr<TaskThread> Peers::to(const std::shared_ptr<net::Channel>& visitor) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<TaskThread>& sender = visitors_[visitor];
  if (sender == nullptr) sender = std::make_shared<TaskThread>();
  return sender;
}

void Peers::release(uint64_t plan) {
  std::vector<std::shared_ptr<PeerConnection>> peers;  // both end after the lock
  std::vector<std::shared_ptr<TaskThread>> senders;
  const std::lock_guard lock(mutex_);
  for (const auto& [address, peer] : peers_) peer->forget(plan);
  take_unused(peers_, peers);
  take_unused(visitors_, senders);
}

void Peers::finish() {
  std::vector<std::shared_ptr<PeerConnection>> peers;
  std::vector<std::shared_ptr<TaskThread>> senders;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, peer] : peers_) peers.push_back(peer);
    for (const auto& [visitor, sender] : visitors_) senders.push_back(sender);
  }
  for (const auto& peer : peers) {
    peer->close();  // a plan that started since may have opened it
    run_all_tasks(*peer);
    peer->join_watcher();
  }
  for (const auto& sender : senders) run_all_tasks(*sender);
}

void Peers::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, peer] : peers_) peer->close();
}

}  // namespace shoal::cluster
