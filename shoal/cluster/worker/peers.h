// Peers: the connections of a worker with other workers, for as long as plans need them.
//
// Two workers that send to each other share a channel. Who has something to send and finds none
// opens one, and waits for nobody. So that not both do, the one of the lesser name opens it when a
// plan starts, and the other one not before it sends. Where both do all the same there are two,
// which is as good.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "shoal/cluster/worker/peer_connection.h"

namespace shoal::cluster {

// Thread-safe.
class Peers {
 public:
  using ChannelPtr = PeerChannels::ChannelPtr;
  // Begins to read a channel that this worker opened, and calls add(). On a thread that sends.
  using Admit = std::function<Status(const ChannelPtr&)>;

  // `self` is the name of this worker. REQUIRES: the transport outlives it.
  Peers(std::string self, net::Transport& transport, Admit admit)
      : self_(std::move(self)), transport_(transport), admit_(std::move(admit)) {}

  // The peer of this name at an address, for a plan that sends to it. Another one at the address
  // gets nothing. kExhausted if there are too many.
  Result<std::shared_ptr<PeerConnection>> at(const std::string& address, const std::string& name);
  // The channels with a peer, for a plan that it sends to. They stay open while somebody has this.
  Result<std::shared_ptr<PeerChannels>> with(const std::string& name);
  // The thread that sends to a coordinator, over the channel by which it connected.
  std::shared_ptr<TaskThread> to(const ChannelPtr& visitor);

  // A channel is being read from now on. Pieces for the worker at the other end go over it.
  void add(const ChannelPtr& channel, OpenedBy by);
  // The channel is closed. Returns the plans that have sent over it.
  std::set<uint64_t> remove(const ChannelPtr& channel);
  // As PeerConnection::lose().
  bool lose(const ChannelPtr& channel, uint64_t plan);

  // Closes channels that no plan uses any more, after what they are sending. REQUIRES: it does not
  // run on a thread that sends.
  void close_unused();
  void close();  // opens no channel after this
  // Waits until no thread that sends holds a plan any more. A plan that ends on such a thread could
  // otherwise be the last to hold the connection, which would join itself. REQUIRES: no plan is
  // started, computed or told anything any more.
  void finish();

 private:
  Result<std::shared_ptr<PeerChannels>> channels_with(const std::string& name);
  Result<ChannelPtr> dial(const std::string& address, const std::string& name);

  const std::string self_;
  net::Transport& transport_;
  const Admit admit_;
  std::atomic<bool> closed_ = false;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<PeerChannels>> channels_;  // by name
  // By address and name: what one coordinator says of an address is no business of others' plans.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<PeerConnection>> peers_;
  std::map<ChannelPtr, std::shared_ptr<TaskThread>> visitors_;  // by channel
};

}  // namespace shoal::cluster
