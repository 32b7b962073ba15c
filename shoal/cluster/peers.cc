#include "shoal/cluster/peers.h"

#include <latch>
#include <utility>
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

void Peers::drain() {
  std::vector<std::shared_ptr<PeerConnection>> peers;
  std::vector<std::shared_ptr<TaskThread>> senders;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, peer] : std::exchange(peers_, {})) peers.push_back(peer);
    for (const auto& [visitor, sender] : std::exchange(visitors_, {})) senders.push_back(sender);
  }
  std::latch left(static_cast<std::ptrdiff_t>(peers.size() + senders.size()));
  for (const auto& peer : peers) peer->post([&] { left.count_down(); });
  for (const auto& sender : senders) sender->post([&] { left.count_down(); });
  left.wait();
}

void Peers::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, peer] : peers_) peer->close();
}

}  // namespace shoal::cluster
