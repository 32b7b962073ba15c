// PlanDeployer: gives workers their parts of plans, with the weights that they lack.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/cluster/request_runner.h"
#include "shoal/cluster/weight_sender.h"
#include "shoal/cluster/worker_links.h"

namespace shoal::cluster {

namespace message {
class Missing;
}  // namespace message

// A plan in the form that its workers are sent. Made once, for any number of deployments.
struct EncodedPlan {
  plan::ScheduledPlan scheduled;
  std::vector<std::string> assignments;  // by worker; empty: it has no part in it
  std::map<Hash, Tensor> weights;        // by the names that assignments call them
};
using EncodedPlanPtr = std::shared_ptr<const EncodedPlan>;

// Thread-safe. Deployments follow each other: workers answer without saying to which.
class PlanDeployer {
 public:
  // REQUIRES: links and runner outlive it.
  PlanDeployer(WorkerLinks& links, RequestRunner& runner, DeployOptions options = {});

  // A number that no other plan or service of this process, or likely of any coordinator, has.
  uint64_t make_id() { return next_id_++; }

  // Fails if the plan is not one for these workers.
  Result<EncodedPlanPtr> encode(const plan::ScheduledPlan& scheduled) const;
  // Gives it to its workers and, once all of them are ready, offers it to requests under its own
  // number. On failure it is released again.
  Result<DeployedPlanPtr> deploy(const EncodedPlan& encoded, bool traced);
  // Gives it again to the workers that were lost and are back; the others keep theirs.
  Status restore(uint64_t plan, const EncodedPlan& encoded, bool traced);
  // Requests at it fail, and its workers are told to drop it.
  void release(const DeployedPlan& deployed);

  // Replies of workers, on their reader threads. kCorrupt if one makes no sense.
  Status take_missing(int worker, const message::Missing& missing);
  void take_stored(int worker, const Hash& hash, uint64_t have) {
    weights_.acknowledge(worker, hash, have);
  }
  void take_working(int worker);
  void take_ready(int worker);
  void take_clock(int worker, int64_t clock);
  void take_failure(int worker, const Status& status);
  void lose(int worker, const Status& why) { take_failure(worker, why); }

 private:
  using Clock = std::chrono::steady_clock;

  // The reply of a worker to the current exchange.
  struct Reply {
    bool came = false;
    Status status = {};
    bool is_ready = false;
    std::map<Hash, uint64_t> missing = {};  // with the bytes that it has of each
    int64_t clock = 0;                      // of the worker, when it spoke
    Clock::time_point at = {};
  };

  // Waits for as long as `timeout`, and again after each sign of progress.
  Result<Reply> exchange(int worker, const message::Message& message, const std::string& payload,
                         std::chrono::milliseconds timeout);
  void put(int worker, Reply reply);
  static Result<MissingWeights> with_all(const std::vector<int>& workers,
                                         const std::function<Result<Reply>(int)>& talk);
  Status assign_all(uint64_t plan, const EncodedPlan& encoded, bool traced);
  Status assign(const std::vector<int>& workers, uint64_t plan, const EncodedPlan& encoded,
                bool traced);
  Result<Reply> announce(int worker, uint64_t plan, const EncodedPlan& encoded, bool traced);
  Status compare_clocks(int worker);
  Status restore_to(int worker, uint64_t plan, const EncodedPlan& encoded, bool traced);

  WorkerLinks& links_;
  RequestRunner& runner_;
  const std::chrono::milliseconds progress_timeout_;
  WeightSender weights_;
  std::atomic<uint64_t> next_id_;
  std::mutex deploying_;  // one deployment at a time
  std::mutex mutex_;      // of all below
  std::condition_variable changed_;
  std::vector<Reply> replies_;            // by worker
  std::vector<Clock::time_point> heard_;  // by worker: the last sign of progress
};

}  // namespace shoal::cluster
