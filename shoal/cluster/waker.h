// Waker: keeps the radios of workers from sleeping while somebody waits for an answer. A radio that
// sleeps takes tens of milliseconds to hear the next message.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace shoal::cluster {

class Waker {
 public:
  // Calls `wake` when somebody begins to wait, and then every interval until nobody does.
  Waker(std::chrono::milliseconds interval, std::function<void()> wake);
  ~Waker();

  void begin();  // somebody waits
  void end();

 private:
  void run();

  const std::chrono::milliseconds interval_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace shoal::cluster
