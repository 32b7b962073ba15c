// Duties: the plans of a worker, and the thread that computes their tasks.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "shoal/cluster/duty.h"

namespace shoal::cluster {

using DutyPtr = std::shared_ptr<Duty>;

class Duties {
 public:
  using ChannelPtr = Duty::ChannelPtr;

  // Tasks are computed while nobody else has the turn, which outlives this.
  Duties(std::mutex& turn, Reached reached) : turn_(turn), reached_(std::move(reached)) {}
  ~Duties() { stop(); }

  void start();
  void stop();  // when it returns, no task is computed any more

  Status add(const DutyPtr& duty);
  // Null where there is none, or none that the coordinator on this channel has given.
  DutyPtr find(uint64_t plan) const;
  DutyPtr find(uint64_t plan, const ChannelPtr& coordinator) const;
  DutyPtr take(uint64_t plan, const ChannelPtr& coordinator);
  std::vector<DutyPtr> take_all(const ChannelPtr& coordinator);

  void look();  // something has come, perhaps the last that a task needs

  size_t count() const;
  uint64_t computed() const;  // tasks

 private:
  void compute();
  bool compute_one();
  std::optional<Deployment::Time> next_time() const;

  std::mutex& turn_;
  const Reached reached_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::map<uint64_t, DutyPtr> duties_;
  uint64_t computed_ = 0;
  uint64_t news_ = 0;
  bool stopped_ = false;
  std::thread computer_;
};

}  // namespace shoal::cluster
