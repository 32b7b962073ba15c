// WorkerLink: the connection from a coordinator to one worker, until it breaks.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

// Thread-safe, but for start_reading().
class WorkerLink {
 public:
  explicit WorkerLink(std::shared_ptr<net::Channel> channel) : channel_(std::move(channel)) {}
  // Closes the channel, drops tasks of the sender that wait, and joins both threads. REQUIRES: it
  // does not run on one of these, nor under a lock that one of them takes.
  ~WorkerLink() {
    channel_->close();
    if (reader_.joinable()) reader_.join();
  }

  // Runs `read` on a thread of the link. It should return when the channel is closed. Once only.
  void start_reading(std::function<void()> read) { reader_ = std::thread(std::move(read)); }

  net::Channel& channel() const { return *channel_; }
  TaskThread& sender() { return sender_; }  // for sends that must not hold up the caller

 private:
  const std::shared_ptr<net::Channel> channel_;
  TaskThread sender_;
  std::thread reader_;
};
using WorkerLinkPtr = std::shared_ptr<WorkerLink>;

}  // namespace shoal::cluster
