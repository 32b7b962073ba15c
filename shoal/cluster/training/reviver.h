// Reviver: looks for workers that a training run has lost, on a thread of its own: to connect takes
// time, and others learn meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/coordinator/runtime/coordinator.h"

namespace shoal::cluster {

class Reviver {
 public:
  using Clock = std::chrono::steady_clock;

  Reviver(Coordinator& coordinator, std::chrono::milliseconds interval)
      : coordinator_(coordinator), interval_(interval) {}

  // Not looked for: others that the coordinator has, and those that do not train as they should.
  void leave_out(int worker) { except_.insert(worker); }
  // When to look next; nothing where nobody is missing.
  std::optional<Clock::time_point> next() const;
  // Looks if it is time to.
  void look();

 private:
  Coordinator& coordinator_;
  const std::chrono::milliseconds interval_;
  Workers except_;
  Clock::time_point last_ = {};
  std::atomic<bool> is_looking_ = false;
  TaskThread thread_;
};

}  // namespace shoal::cluster
