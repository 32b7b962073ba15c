// PeerConnection: the way from one worker to another, shared by all plans, with one thread that
// sends.
//
// When a channel breaks, pieces that were sent may be lost. Plans that have sent over it can then
// not use the peer any more; other plans go on over a new channel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/worker/peer_channels.h"

namespace shoal::cluster {

// Thread-safe.
class PeerConnection {
 public:
  using ChannelPtr = PeerChannels::ChannelPtr;
  // Opens a channel and adds it to the others.
  using Dial = std::function<Result<ChannelPtr>()>;
  enum class Dialler : uint8_t { kUs, kPeer };

  // `dialler` is who connects when a plan starts in which each sends to the other.
  PeerConnection(std::shared_ptr<PeerChannels> channels, Dial dial, Dialler dialler);

  const std::string& name() const { return channels_->name(); }  // of the peer

  // As TaskThread::post().
  bool post(TaskThread::Task task, size_t bytes = 0, std::function<bool()> is_over = nullptr) {
    return sender_.post(std::move(task), bytes, std::move(is_over));
  }
  // Sends over a channel, which it opens if there is none. Fails if the peer cannot be reached, or
  // if something that this plan sent before may be lost. REQUIRES: called by a task.
  Status send(uint64_t plan, const std::function<Status(net::Channel&)>& what);

  // A plan is about to send, for the first time or again: what it sent before is not waited for.
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

}  // namespace shoal::cluster
