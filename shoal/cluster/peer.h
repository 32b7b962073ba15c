// Peer: the way from a worker to another one, shared by all plans: one connection, one thread that
// sends. A connection that breaks takes along the plans that have sent by it, for what they sent
// may be lost; others go on by the next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "shoal/cluster/outbox.h"
#include "shoal/net/transport.h"

namespace shoal::cluster {

class Peer {
 public:
  // This plan cannot count on the peer, which has this name, any more. On any thread.
  using Cut = std::function<void(uint64_t plan, const std::string& name)>;

  // The transport outlives it.
  Peer(std::string address, net::Transport& transport, Cut cut);
  ~Peer();  // closes; drops what waits

  void put(Outbox::Job job) { outbox_->put(std::move(job)); }
  // By a job. Fails where the peer cannot be reached, or where something that this plan sent before
  // may be lost.
  Status send(uint64_t plan, const std::function<Status(net::Channel&)>& what);

  // There is a new plan: connects, although that may have failed before.
  void expect();
  void forget(uint64_t plan);
  void close();  // whoever is sending fails

 private:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  Result<ChannelPtr> open();
  void watch(const ChannelPtr& channel);
  void lose(const ChannelPtr& channel, std::optional<uint64_t> spared);

  const std::string address_;
  net::Transport& transport_;
  const Cut cut_;

  std::mutex mutex_;
  ChannelPtr channel_;               // none: it is opened for whoever sends next, unless
  Status unreachable_;               // why it could not be
  std::set<uint64_t> using_, lost_;  // plans that have sent by it, or by one that broke
  bool closed_ = false;
  std::thread watcher_;             // of the channel; the sending thread's
  std::optional<Outbox> outbox_{};  // first to go: it uses the rest
};

}  // namespace shoal::cluster
