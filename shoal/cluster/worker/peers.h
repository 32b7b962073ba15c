// Peers: the connections of a worker with other workers, for as long as plans need them.
//
// Two workers that send to each other share a channel. A sender without a channel opens one,
// without waiting for the peer. To avoid two, the worker with the lesser name opens it when a plan
// starts, and the other one not before it sends. If both connect all the same there are two
// channels, which works as well.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

enum class OpenedBy : uint8_t { kUs, kPeer };

// The open channels with one worker, whichever of the two opened them. Both send over the same one;
// there are two if both connected at the same time, or one is dead. Thread-safe.
class PeerChannels {
 public:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  explicit PeerChannels(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }  // of the worker, as certified

  void add(ChannelPtr channel, OpenedBy by);
  void remove(const ChannelPtr& channel);
  bool empty() const;

  // Null if there is none. A restarted peer connects again, long before its old channels are
  // noticed to be dead.
  ChannelPtr newest() const;

  // No plan here needs the peer any more. It closes its own channels: its plans may still send.
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

// The connection from one worker to another, shared by all plans, with one sender thread.
//
// When a channel breaks, sent pieces may be lost. Plans that have sent over it can then no longer
// use the peer; other plans continue over a new channel. Thread-safe.
class PeerConnection {
 public:
  using ChannelPtr = PeerChannels::ChannelPtr;
  // Opens a channel and adds it to the others.
  using Dial = std::function<Result<ChannelPtr>()>;
  enum class Dialler : uint8_t { kUs, kPeer };

  // `dialler` connects when a plan starts in which each sends to the other.
  PeerConnection(std::shared_ptr<PeerChannels> channels, Dial dial, Dialler dialler);

  const std::string& name() const { return channels_->name(); }  // of the peer

  // As TaskThread::post().
  bool post(TaskThread::Task task, size_t bytes = 0, std::function<bool()> is_over = nullptr) {
    return sender_.post(std::move(task), bytes, std::move(is_over));
  }
  // Sends over a channel, which it opens if there is none. Fails if the peer cannot be reached, or
  // if earlier pieces of this plan may be lost. REQUIRES: called by a task.
  Status send(uint64_t plan, const std::function<Status(net::Channel&)>& what);

  // A plan is about to send, for the first time or again: its earlier pieces are not waited for.
  // Connects, although that may have failed before, unless the peer is about to. `peer_sends`: the
  // plan also has it send to this worker.
  void expect(uint64_t plan, bool peer_sends);
  void forget(uint64_t plan);  // it is over

  // The channel is closed. Returns the plans that have sent over it.
  std::set<uint64_t> lose(const ChannelPtr& channel);
  // The peer has dropped what this plan sent over the channel. False if it sent nothing.
  bool lose(const ChannelPtr& channel, uint64_t plan);

 private:
  struct Route {
    ChannelPtr channel;
    bool is_first;  // the plan has sent nothing yet
  };

  Result<Route> route_of(uint64_t plan);
  Result<ChannelPtr> open();

  const std::shared_ptr<PeerChannels> channels_;
  const Dial dial_;
  const Dialler dialler_;

  std::mutex mutex_;
  std::map<uint64_t, ChannelPtr> sent_by_;  // by plan that has sent; null: its channel broke

  // The sender's.
  Status unreachable_;  // why the peer could not be dialled
  TaskThread sender_;   // first to go: it uses the rest
};

// Thread-safe.
class Peers {
 public:
  using ChannelPtr = PeerChannels::ChannelPtr;
  // Begins to read a channel that this worker opened, and calls add(). On a thread that sends.
  using Admit = std::function<Status(const ChannelPtr&)>;

  // `self` is the name of this worker. REQUIRES: the transport outlives it.
  Peers(std::string self, net::Transport& transport, Admit admit)
      : self_(std::move(self)), transport_(transport), admit_(std::move(admit)) {}

  // The peer of this name at an address, for a plan that sends to it. Another peer at the address
  // gets nothing. kExhausted if there are too many.
  Result<std::shared_ptr<PeerConnection>> at(const std::string& address, const std::string& name);
  // The channels with a peer, for a plan that it sends to. They stay open while the result lives.
  Result<std::shared_ptr<PeerChannels>> with(const std::string& name);
  // The thread that sends to a coordinator, over the channel by which it connected.
  std::shared_ptr<TaskThread> to(const ChannelPtr& visitor);

  // A channel is being read from now on. Pieces for the worker at the other end use it.
  void add(const ChannelPtr& channel, OpenedBy by);
  // The channel is closed. Returns the plans that have sent over it.
  std::set<uint64_t> remove(const ChannelPtr& channel);
  // As PeerConnection::lose().
  bool lose(const ChannelPtr& channel, uint64_t plan);

  // Closes channels that no plan uses any more, after their pending sends. REQUIRES: it does not
  // run on a sender thread.
  void close_unused();
  void close();  // opens no channel after this
  // Waits until no sender thread holds a plan any more. A plan that ends on such a thread could
  // otherwise be the last to hold the connection, which would join itself. REQUIRES: plans are no
  // longer started, computed or sent messages.
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
  // By address and name: one coordinator's claim about an address does not affect others' plans.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<PeerConnection>> peers_;
  std::map<ChannelPtr, std::shared_ptr<TaskThread>> visitors_;  // by channel
};

}  // namespace shoal::cluster
