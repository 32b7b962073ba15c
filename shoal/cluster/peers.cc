#include "shoal/cluster/peers.h"

#include <vector>

namespace shoal::cluster {
namespace {

// Nobody else can get hold of what only the map holds, which nobody else looks at.
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

std::shared_ptr<Peer> Peers::at(const std::string& address) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Peer>& peer = peers_[address];
  if (peer == nullptr) peer = std::make_shared<Peer>(address, transport_, cut_);
  peer->expect();
  return peer;
}

std::shared_ptr<Outbox> Peers::to(const std::shared_ptr<net::Channel>& visitor) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Outbox>& outbox = visitors_[visitor];
  if (outbox == nullptr) outbox = std::make_shared<Outbox>();
  return outbox;
}

void Peers::release(uint64_t plan) {
  std::vector<std::shared_ptr<Peer>> peers;  // both end after the lock
  std::vector<std::shared_ptr<Outbox>> outboxes;
  const std::lock_guard lock(mutex_);
  for (const auto& [address, peer] : peers_) peer->forget(plan);
  take_unused(peers_, peers);
  take_unused(visitors_, outboxes);
}

void Peers::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, peer] : peers_) peer->close();
}

}  // namespace shoal::cluster
