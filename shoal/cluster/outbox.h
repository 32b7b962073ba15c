// Outbox: sends to one peer, in order and in the background, so that a worker computes while what
// it made travels.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "shoal/net/transport.h"

namespace shoal::cluster {

class Outbox {
 public:
  using ChannelPtr = std::shared_ptr<net::Channel>;
  using Open = std::function<Result<ChannelPtr>()>;
  // Sends something; given the channel, or why there is none.
  using Job = std::function<void(const Result<ChannelPtr>& channel)>;

  // `open` is called at once, on the thread that sends.
  explicit Outbox(Open open);
  ~Outbox();  // drops what waits; what is leaving leaves, unless the channel was closed

  void put(Job job);
  void close();  // the channel

 private:
  void send_all(const Open& open);

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Job> jobs_;
  ChannelPtr channel_;
  bool closed_ = false, over_ = false;
  std::thread thread_;
};

}  // namespace shoal::cluster
