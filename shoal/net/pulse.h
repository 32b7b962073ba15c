// Pulse: a thread that lets channels beat.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace shoal::net {

class Beating {
 public:
  virtual void beat() = 0;  // never blocks

 protected:
  ~Beating() = default;
};

class Pulse {
 public:
  explicit Pulse(std::chrono::milliseconds interval);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  void add(Beating& one);
  void remove(Beating& one);  // returns when it does not beat any more

 private:
  void run(std::chrono::milliseconds interval);

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::vector<Beating*> beating_;
  std::thread thread_;
};

}  // namespace shoal::net
