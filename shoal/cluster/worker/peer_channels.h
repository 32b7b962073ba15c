// PeerChannels: the open channels with one worker, whichever of the two opened them. Both send over
// the same one; there are two where both connected at the same time, or one is dead.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

enum class OpenedBy : uint8_t { kUs, kPeer };

// Thread-safe.
class PeerChannels {
 public:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  explicit PeerChannels(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }  // of the worker, as certified

  void add(ChannelPtr channel, OpenedBy by);
  void remove(const ChannelPtr& channel);
  bool empty() const;

  // Null if there is none. Who was started again connects again, long before what is left of its
  // last life is noticed to be dead.
  ChannelPtr newest() const;

  // No plan here needs the peer any more. The peer closes what it opened: its plans may still send.
  void close_ours();

 private:
  struct Entry {
    ChannelPtr channel;
    OpenedBy by;
  };

  const std::string name_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // the newest last
};

}  // namespace shoal::cluster
