// Waker: keeps the radios of workers from sleeping while somebody waits for an answer. A radio that
// sleeps takes tens of milliseconds to hear the next message.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shoal::cluster {

// All but the destructor may be called from any thread.
class Waker {
 public:
  explicit Waker(std::function<void(int worker)> wake);
  ~Waker();

  // Whom to wake when somebody begins to wait, and then every interval until nobody does. Nobody,
  // to begin with.
  void watch_over(std::vector<int> workers, std::chrono::milliseconds interval);

  void begin();  // somebody waits
  void end();

 private:
  void run();

  const std::function<void(int)> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> workers_;
  std::chrono::milliseconds interval_{0};
  int waiting_ = 0;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace shoal::cluster
