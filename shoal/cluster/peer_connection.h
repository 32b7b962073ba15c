// PeerConnection: the connection from one worker to another, shared by all plans, with one thread
// that sends.
//
// When it breaks, pieces that were sent may be lost. Plans that have sent by it can then not use
// the peer any more; other plans go on by a new connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "shoal/base/task_thread.h"
#include "shoal/net/transport.h"

namespace shoal::cluster {

// Thread-safe.
class PeerConnection {
 public:
  // Called when a plan cannot use the peer of this name any more, on any thread and without a lock.
  using Cut = std::function<void(uint64_t plan, const std::string& name)>;

  // To the worker of this name; another one at the address gets nothing. REQUIRES: the transport
  // outlives it.
  PeerConnection(std::string address, std::string name, net::Transport& transport, Cut cut);
  ~PeerConnection();  // closes the connection; drops tasks that wait

  // As TaskThread::post().
  bool post(TaskThread::Task task, size_t bytes = 0, std::function<bool()> is_over = nullptr) {
    return sender_->post(std::move(task), bytes, std::move(is_over));
  }
  // Sends by the connection, which it opens if need be. Fails if the peer cannot be reached, or if
  // something that this plan sent before may be lost. REQUIRES: called by a task.
  Status send(uint64_t plan, const std::function<Status(net::Channel&)>& what);

  void expect();  // connect again for the next send, although that may have failed before
  void forget(uint64_t plan);
  void close();  // sends that go on fail
  // Waits for the end of the watcher. REQUIRES: after close(), no task runs or waits, and on no
  // thread of its own.
  void join_watcher();

 private:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  Result<ChannelPtr> open();
  Result<ChannelPtr> connect() const;
  Status use(ChannelPtr channel);
  void hear(const ChannelPtr& channel, const net::Frame& frame);
  void watch(const ChannelPtr& channel);
  void lose(const ChannelPtr& channel, std::optional<uint64_t> spared);

  const std::string address_, name_;
  net::Transport& transport_;
  const Cut cut_;

  std::mutex mutex_;
  ChannelPtr channel_;               // null: the next send opens it, unless
  Status unreachable_;               // says why it could not be opened
  std::set<uint64_t> using_, lost_;  // plans that have sent by it, or by one that broke
  bool closed_ = false;
  std::thread watcher_;                 // reads the channel; used by the sender only
  std::optional<TaskThread> sender_{};  // first to go: it uses the rest
};

}  // namespace shoal::cluster
