// StopSignals: Ctrl-C and SIGTERM as an event. Must be there before any other thread is.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace shoal {

class StopSignals {
 public:
  // Calls `stop` once, on a separate thread. A second signal ends the program at once.
  explicit StopSignals(std::function<void()> stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  void watch();

  const std::function<void()> stop_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace shoal
