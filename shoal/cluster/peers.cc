#include "shoal/cluster/peers.h"

#include <chrono>
#include <thread>
#include <vector>

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

// A send holds its plan, and by it the thread that it runs on. If the plan's were the last
// reference to the thread, that would end on itself.
void Peers::end() {
  for (;;) {
    release(0);
    {
      const std::lock_guard lock(mutex_);
      if (peers_.empty() && visitors_.empty()) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Peers::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, peer] : peers_) peer->close();
}

}  // namespace shoal::cluster
