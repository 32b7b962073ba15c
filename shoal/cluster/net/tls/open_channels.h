// OpenChannels: the channels of a transport, so that those to removed members can be closed.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {

class OpenChannels {
 public:
  explicit OpenChannels(std::shared_ptr<const Membership> membership)
      : membership_(std::move(membership)) {}

  // `id` is of the peer's certificate.
  void add(const std::shared_ptr<Channel>& channel, CertificateId id) {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [](const Entry& one) { return one.channel.expired(); });
    open_.push_back({channel, std::move(id)});
    // The peer may have been removed since it was judged.
    if (!membership_->check(open_.back().id).ok()) channel->close();
  }

  void close_denied() {
    const std::lock_guard lock(mutex_);
    for (const Entry& one : open_) {
      const auto channel = one.channel.lock();
      if (channel != nullptr && !membership_->check(one.id).ok()) channel->close();
    }
  }

 private:
  struct Entry {
    std::weak_ptr<Channel> channel;
    CertificateId id;
  };
  const std::shared_ptr<const Membership> membership_;
  std::mutex mutex_;
  std::vector<Entry> open_;
};

}  // namespace shoal::net
