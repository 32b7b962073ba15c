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
