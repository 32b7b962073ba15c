// Peers: the connections from a worker to other workers, for as long as plans need them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "shoal/cluster/peer_connection.h"

namespace shoal::cluster {

// Thread-safe.
class Peers {
 public:
  // `cut` as in PeerConnection. REQUIRES: the transport outlives it.
  Peers(net::Transport& transport, PeerConnection::Cut cut)
      : transport_(transport), cut_(std::move(cut)) {}

  // The peer of this name at an address, for a plan that is about to begin. kExhausted if there are
  // too many.
  Result<std::shared_ptr<PeerConnection>> at(const std::string& address, const std::string& name);
  // The thread that sends to a coordinator, over the channel by which it connected.
  std::shared_ptr<TaskThread> to(const std::shared_ptr<net::Channel>& visitor);

  // The plan is over. Closes connections that no plan uses any more, after what they are sending.
  void release(uint64_t plan);
  void close();  // sends that go on fail
  // Waits until no thread of a connection holds a plan any more. A plan that ends on such a thread
  // could otherwise be the last to hold the connection, which would join itself. REQUIRES: no
  // plan is started, computed or told anything any more.
  void finish();

 private:
  net::Transport& transport_;
  const PeerConnection::Cut cut_;
  std::mutex mutex_;
  // By address and name.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<PeerConnection>> peers_;
  std::map<std::shared_ptr<net::Channel>, std::shared_ptr<TaskThread>> visitors_;  // by channel
};

}  // namespace shoal::cluster
