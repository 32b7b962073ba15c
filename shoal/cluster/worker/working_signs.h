// WorkingSigns: reports every second that a plan is still being started, so that the coordinator
// can tell a slow worker from one that hangs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace shoal::cluster {

class WorkingSigns {
 public:
  struct Options {
    std::chrono::milliseconds interval{1'000};
    // Without a step for this long the work hangs, and reports stop. A step may be all of a large
    // model, on a board that swaps.
    std::chrono::milliseconds longest_step{600'000};
  };

  // Calls `say` on its own thread until destroyed.
  explicit WorkingSigns(std::function<void()> say) : WorkingSigns(std::move(say), Options()) {}
  WorkingSigns(std::function<void()> say, Options options);
  ~WorkingSigns();
  WorkingSigns(const WorkingSigns&) = delete;
  WorkingSigns& operator=(const WorkingSigns&) = delete;

  void step();  // the work goes on

 private:
  void run(const std::function<void()>& say);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point last_step_ = std::chrono::steady_clock::now();
  bool over_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace shoal::cluster
