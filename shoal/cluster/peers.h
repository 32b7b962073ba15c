// Peers: the ways from a worker to others, for as long as plans need them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "shoal/cluster/peer.h"

namespace shoal::cluster {

class Peers {
 public:
  // The transport outlives it. `cut` as in Peer.
  Peers(net::Transport& transport, Peer::Cut cut) : transport_(transport), cut_(std::move(cut)) {}

  // For a plan that is about to begin.
  std::shared_ptr<Peer> at(const std::string& address);
  // To whom has come: a coordinator, whose channel is there already.
  std::shared_ptr<Outbox> to(const std::shared_ptr<net::Channel>& visitor);

  // The plan is over. Ways that nobody holds any more end; waits for what is leaving by them.
  void release(uint64_t plan);
  void close();  // whoever is sending fails

 private:
  net::Transport& transport_;
  const Peer::Cut cut_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Peer>> peers_;                         // by address
  std::map<std::shared_ptr<net::Channel>, std::shared_ptr<Outbox>> visitors_;  // by channel
};

}  // namespace shoal::cluster
