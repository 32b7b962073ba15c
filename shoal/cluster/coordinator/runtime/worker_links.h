// WorkerLinks: the connections from a coordinator to all of its workers, which it numbers from 0.
//
// A worker is lost if its connection breaks, if it sends a malformed message, or if it did not
// answer in the first place. revive() connects to it. The meaning of messages is not known here.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/messages/greeting.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

// The connection from a coordinator to one worker, until it breaks.
// Thread-safe, except start_reading().
class WorkerLink {
 public:
  explicit WorkerLink(std::shared_ptr<net::Channel> channel) : channel_(std::move(channel)) {}
  // Closes the channel, drops the sender's queued tasks, and joins both threads. REQUIRES: it does
  // not run on one of these, nor under a lock that one of them takes.
  ~WorkerLink() {
    channel_->close();
    if (reader_.joinable()) reader_.join();
  }

  // Runs `read` on a thread of the link. It must return when the channel is closed. Once only.
  void start_reading(std::function<void()> read) { reader_ = std::thread(std::move(read)); }

  net::Channel& channel() const { return *channel_; }
  TaskThread& sender() { return sender_; }  // for sends that must not hold up the caller

 private:
  const std::shared_ptr<net::Channel> channel_;
  TaskThread sender_;
  std::thread reader_;
};
using WorkerLinkPtr = std::shared_ptr<WorkerLink>;

struct LinkEvents {
  // Memory for the payload of a frame that a worker is about to send. kCancelled: it is no longer
  // needed, and dropped. Any other failure loses the worker. Called as `received`.
  std::function<Result<net::Buffer>(int worker, net::Bytes control, size_t bytes)> place;
  // Handles a frame of a worker with this role. A status that is not OK loses the worker. Called
  // without a lock, on one thread for each worker.
  std::function<Status(int worker, net::Role role, const net::Frame& frame)> received;
  // A worker was lost, or is back. Called under the lock of the links, in the order of these
  // events. REQUIRES: they do not call the links.
  std::function<void(int worker, const Status& why)> lost;
  std::function<void(int worker)> revived;
};

// Thread-safe, except start() and close().
class WorkerLinks {
 public:
  // `greeted`: the result of connect_to_all(). REQUIRES: the transport outlives the links.
  WorkerLinks(std::span<const ListedWorker> workers, std::vector<Result<GreetedWorker>> greeted,
              net::Transport& transport, EpochClaim epoch, LinkEvents events);
  ~WorkerLinks() { close(); }

  void start();  // reports workers that are lost from the beginning, and begins to read
  void close();  // no event comes after it

  size_t size() const { return entries_.size(); }
  WorkerInfo info(int worker) const;
  std::vector<WorkerInfo> infos() const;
  std::string name(int worker) const { return info(worker).name; }
  void set_clock_ahead(int worker, int64_t nanoseconds);
  void set_slowdown(int worker, double factor);

  Status status(int worker) const;  // OK, or why it is lost
  std::vector<int> lost() const;
  net::Traffic traffic() const;  // over all connections that are open now

  WorkerLinkPtr link(int worker) const;  // null: there was none yet, or it is closing
  // Does not lose a worker that cannot be reached: its reader will.
  Status send(int worker, const message::Message& message, std::span<const net::Bytes> payload = {},
              bool urgent = false) const;
  // Sends on the thread of the link, without waiting. Never blocks. Dropped if the worker takes
  // nothing any more.
  void post(int worker, const message::Message& message) const;
  // Loses the worker, unless this link of it was replaced before.
  void lose(int worker, const WorkerLink& link, const Status& why);
  // Takes a list of removed members that a worker has sent. Links to them break.
  Status learn(const std::string& deny_list) { return transport_.learn(deny_list); }
  // Connects to a lost worker. OK if it is not lost.
  Status revive(int worker);
  // Connects to all lost workers, at the same time; returns how many are back. Calls are
  // serialised, so that two do not connect to one worker.
  size_t revive_lost(const std::set<int>& except);
  // Calls `then` if the worker has not been lost since `link` was its link; the worker is not lost
  // while it runs. REQUIRES: `then` does not call the links.
  Status if_still(int worker, const WorkerLinkPtr& link, const std::function<void()>& then) const;

 private:
  struct Entry {
    WorkerInfo info;
    WorkerLinkPtr link;  // the last one; null: it never answered
    Status lost = {};    // why
  };

  void adopt(int worker, GreetedWorker there);
  void start_reading(int worker, const WorkerLinkPtr& link);
  void read(int worker, WorkerLink& link);
  const Entry& at(int worker) const { return entries_[static_cast<size_t>(worker)]; }
  Entry& at(int worker) { return entries_[static_cast<size_t>(worker)]; }

  net::Transport& transport_;
  const EpochClaim epoch_;
  const LinkEvents events_;
  std::mutex reviving_;  // taken before mutex_
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::vector<Entry> entries_;  // their number never changes
};

}  // namespace shoal::cluster
