// WeightSender: sends workers the weights that they lack, chunk by chunk, as WeightSchedule
// decides.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "shoal/cluster/coordinator/policy/weight_schedule.h"
#include "shoal/cluster/coordinator/runtime/worker_links.h"

namespace shoal::cluster {

struct DeployOptions {
  // A deployment fails if a worker takes no chunk, or gives no sign that it compiles, for so long.
  std::chrono::milliseconds progress_timeout{10'000};
  // Called while weights travel, chunk by chunk, on the thread that deploys. An error ends the
  // deployment; workers keep what they have for the next.
  std::function<Status(const WeightsProgress&)> progress = nullptr;
};

// The weights that workers lack, with the bytes that they have of each.
using MissingWeights = std::map<int, std::map<Hash, uint64_t>>;  // by worker

// Thread-safe.
class WeightSender {
 public:
  // REQUIRES: the links outlive it.
  WeightSender(WorkerLinks& links, DeployOptions options)
      : links_(links), options_(std::move(options)) {}

  // Returns when the workers have acknowledged all. One call at a time for a worker. Fails with
  //   kCorrupt      a worker misses what is not among `weights`, or acknowledges nonsense
  //   kDeadline     it takes no chunk for as long as the options say
  //   kUnavailable  it is lost
  Status send(uint64_t plan, const MissingWeights& missing, const std::map<Hash, Tensor>& weights);

  // Messages of workers, on their reader threads.
  void acknowledge(int worker, const Hash& hash, uint64_t have);
  // `plan`: 0 if the worker did not say.
  void fail(int worker, uint64_t plan, const Status& why);

 private:
  using Clock = std::chrono::steady_clock;

  Status fill(WeightSchedule& schedule, const MissingWeights& missing,
              const std::map<Hash, Tensor>& weights) const;
  Status carry_out(WeightSchedule& schedule, const std::map<Hash, Tensor>& weights);
  Status send_chunk(const WeightChunk& chunk, net::Bytes whole) const;

  WorkerLinks& links_;
  const DeployOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  struct Sending {
    uint64_t plan;
    WeightSchedule* schedule;
  };
  std::map<int, Sending> sending_;  // by worker, during send()
};

}  // namespace shoal::cluster
