// LoadPolicy: decides when the load of the workers' machines has changed for long enough to make
// plans again. No clock and no I/O.
//
// Short bursts are ignored, and so is a load that is near the planned one, however long it lasts:
// making plans again costs more than they would gain.
#pragma once

#include <chrono>
#include <map>
#include <optional>

namespace shoal::cluster {

struct LoadPolicyOptions {
  double change = 1.25;                       // factor that makes a difference
  std::chrono::milliseconds lasting{30'000};  // how long it must be seen
};

// Not thread-safe.
class LoadPolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit LoadPolicy(LoadPolicyOptions options = {}) : options_(options) {}

  // Plans are made for a worker whose machine is slowed down by this factor: see plan::slowdown().
  void plan_for(int worker, double slowdown) { workers_[worker] = {.planned = slowdown}; }
  // The factor that a worker's machine is slowed down by now. Ignored for workers that no plans are
  // made for. REQUIRES: time does not go back.
  void see(int worker, double slowdown, Time now);
  // A worker was lost: its load is measured anew when it is back.
  void forget(int worker);

  // True if a change has lasted for some worker. From then on, plans are to be made for the average
  // since it began, and for that of other workers whose changes have lasted half as long.
  bool follow(Time now);
  double planned(int worker) const;  // 1 for others

 private:
  struct Worker {
    double planned = 1;
    std::optional<Time> since = std::nullopt;  // a change is seen
    bool is_slower = false;                    // the direction of it
    double sum = 0;                            // of what was seen since
    int count = 0;
  };

  const LoadPolicyOptions options_;
  std::map<int, Worker> workers_;
};

}  // namespace shoal::cluster
