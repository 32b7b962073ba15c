#include "shoal/cluster/worker/peer_channels.h"

namespace shoal::cluster {

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

}  // namespace shoal::cluster
