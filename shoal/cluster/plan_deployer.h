// PlanDeployer: gives workers their parts of plans, with the weights that they lack.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/cluster/request_runner.h"
#include "shoal/cluster/worker_links.h"

namespace shoal::cluster {

// A plan in the form that its workers are sent. Made once, for any number of deployments.
struct EncodedPlan {
  plan::ScheduledPlan scheduled;
  std::vector<std::string> assignments;  // by worker; empty: it has no part in it
  std::map<Hash, Tensor> weights;        // by the names that assignments call them
};
using EncodedPlanPtr = std::shared_ptr<const EncodedPlan>;

// Thread-safe. Deployments of several plans may go on at once; a worker gets one after the other.
class PlanDeployer {
 public:
  // REQUIRES: links and runner outlive it.
  PlanDeployer(WorkerLinks& links, RequestRunner& runner);

  // A number that no other plan or service, of any coordinator, is likely to have. Drawn at random:
  // the number of one plan does not tell that of another.
  static uint64_t make_id();

  // Fails if the plan is not one for these workers.
  Result<EncodedPlanPtr> encode(const plan::ScheduledPlan& scheduled) const;
  // Gives it to its workers and, once all of them are ready, offers it to requests under its own
  // number. On failure it is released again.
  Result<DeployedPlanPtr> deploy(const EncodedPlan& encoded, bool traced);
  // Gives it again to the workers that were lost and are back; the others keep theirs.
  Status restore(uint64_t plan, const EncodedPlan& encoded, bool traced);
  // Requests at it fail, and its workers are told to drop it.
  void release(const DeployedPlan& deployed);

  // Replies of workers, on their reader threads. One that nobody waits for is dropped.
  void take_missing(int worker, uint64_t plan, std::vector<Hash> hashes);
  void take_ready(int worker, uint64_t plan);
  void take_clock(int worker, int64_t clock);
  // `plan`: 0 if the worker did not say.
  void take_failure(int worker, uint64_t plan, const Status& status);
  void lose(int worker, const Status& why) { take_failure(worker, 0, why); }

 private:
  using Clock = std::chrono::steady_clock;

  // The kind of message that answers the current exchange with a worker.
  enum class Awaited : uint8_t { kNothing, kMissing, kReady, kClock };
  struct Reply {
    Status status = {};
    std::vector<Hash> missing = {};
    int64_t clock = 0;  // of the worker, when it spoke
    Clock::time_point at = {};
  };

  // The current exchange with a worker.
  struct Exchange {
    Awaited awaited = Awaited::kNothing;
    uint64_t plan = 0;  // that it is about; 0: none
    bool answered = false;
    Reply reply = {};
  };

  // REQUIRES: the turn of the worker is held; so do assign() and compare_clocks().
  Result<Reply> exchange(int worker, const message::Message& message, const std::string& payload,
                         std::chrono::seconds timeout);
  static Exchange opened_by(const message::Message& message);
  void answer(int worker, Awaited kind, uint64_t plan, Reply reply);
  std::unique_lock<std::mutex> turn(int worker);
  Status assign(int worker, uint64_t plan, const EncodedPlan& encoded, bool traced);
  Status assign_all(uint64_t plan, const EncodedPlan& encoded, bool traced);
  Status send_weights(int worker, const std::vector<Hash>& missing, const EncodedPlan& encoded);
  Status compare_clocks(int worker);
  Status restore_to(int worker, uint64_t plan, const EncodedPlan& encoded, bool traced);

  WorkerLinks& links_;
  RequestRunner& runner_;
  std::vector<std::mutex> turns_;  // by worker: one exchange with it at a time
  std::mutex mutex_;               // of the exchanges
  std::condition_variable changed_;
  std::vector<Exchange> exchanges_;  // by worker
};

}  // namespace shoal::cluster
