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

Result<std::shared_ptr<PeerConnection>> Peers::at(const std::string& address,
                                                  const std::string& name) {
  constexpr size_t kMost = 1024;  // each has two threads
  const std::lock_guard lock(mutex_);
  auto it = peers_.find({address, name});
  if (it == peers_.end()) {
    if (peers_.size() >= kMost) return Status(Code::kExhausted, "too many peers at once");
    // Made before it is inserted: there may be no thread for it.
    auto made = std::make_shared<PeerConnection>(address, name, transport_, cut_);
    it = peers_.emplace(std::pair(address, name), std::move(made)).first;
  }
  it->second->expect();
  return it->second;
}

std::shared_ptr<TaskThread> Peers::to(const std::shared_ptr<net::Channel>& visitor) {
  const std::lock_guard lock(mutex_);
  auto it = visitors_.find(visitor);
  if (it == visitors_.end()) {
    it = visitors_.emplace(visitor, std::make_shared<TaskThread>()).first;
  }
  return it->second;
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
