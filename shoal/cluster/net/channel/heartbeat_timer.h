// HeartbeatTimer: one thread that drives the heartbeats of all channels of a transport.
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace shoal::net {

class Heartbeat {
 public:
  virtual void beat() = 0;  // never blocks

 protected:
  ~Heartbeat() = default;
};

class HeartbeatTimer {
 public:
  explicit HeartbeatTimer(std::chrono::milliseconds interval);
  ~HeartbeatTimer();
  HeartbeatTimer(const HeartbeatTimer&) = delete;
  HeartbeatTimer& operator=(const HeartbeatTimer&) = delete;

  void add(Heartbeat& one);
  void remove(Heartbeat& one);  // returns when it does not beat any more

 private:
  void run(std::chrono::milliseconds interval);

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::vector<Heartbeat*> beating_;
  std::thread thread_;
};

}  // namespace shoal::net
