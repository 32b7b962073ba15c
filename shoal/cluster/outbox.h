// Outbox: sends in order and in the background, so that a worker computes while what it made
// travels.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace shoal::cluster {

class Outbox {
 public:
  using Job = std::function<void()>;  // sends something

  Outbox();
  ~Outbox();  // drops what waits; what is leaving leaves

  void put(Job job);

 private:
  void send_all();

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Job> jobs_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace shoal::cluster
