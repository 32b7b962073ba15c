// WorkerPlans: the plans of a worker, and the one thread that computes their tasks. Tasks use all
// cores of the device, so several at once would only slow each other down. Plans take turns, one
// task each.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "shoal/cluster/worker/worker_plan.h"

namespace shoal::cluster {

using WorkerPlanPtr = std::shared_ptr<WorkerPlan>;

// Thread-safe, except start() and stop().
class WorkerPlans {
 public:
  using ChannelPtr = WorkerPlan::ChannelPtr;

  // Locks `turn` while it computes a task. REQUIRES: `turn` outlives it.
  WorkerPlans(std::mutex& turn, FaultHook reached) : turn_(turn), reached_(std::move(reached)) {}
  ~WorkerPlans() { stop(); }

  void start();
  void stop();  // when it returns, no task is computed any more

  Status add(const WorkerPlanPtr& worker_plan);
  // Null if there is no such plan or, with a channel, if another coordinator deployed it.
  WorkerPlanPtr find(uint64_t plan) const;
  WorkerPlanPtr find(uint64_t plan, const ChannelPtr& coordinator) const;
  WorkerPlanPtr take(uint64_t plan, const ChannelPtr& coordinator);
  std::vector<WorkerPlanPtr> take_all(const ChannelPtr& coordinator);

  void look();  // a piece has come, perhaps the last that a task needs

  size_t count() const;
  uint64_t computed() const;  // tasks

 private:
  void compute();
  bool compute_one();
  std::vector<WorkerPlanPtr> in_turn() const;
  std::optional<Deployment::Time> next_time() const;

  std::mutex& turn_;
  const FaultHook reached_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::map<uint64_t, WorkerPlanPtr> worker_plans_;
  uint64_t computed_ = 0;
  uint64_t latest_ = 0;  // the plan that computed last; the computing thread's
  uint64_t news_ = 0;
  bool stopped_ = false;
  std::thread computer_;
};

}  // namespace shoal::cluster
