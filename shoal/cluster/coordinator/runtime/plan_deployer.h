// PlanDeployer: gives workers their parts of plans, with the weights that they lack.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/cluster/coordinator/policy/weight_schedule.h"
#include "shoal/cluster/coordinator/runtime/request_runner.h"
#include "shoal/cluster/coordinator/runtime/worker_links.h"

namespace shoal::cluster {

struct DeployOptions {
  // A deployment fails if a worker acknowledges no chunk, or reports no compiling, for this long.
  std::chrono::milliseconds progress_timeout{10'000};
  // Called while weights are sent, chunk by chunk, on the deploying thread. An error ends the
  // deployment; workers keep what they have for the next.
  std::function<Status(const WeightsProgress&)> progress = nullptr;
};

// The weights that workers lack, with the bytes that they have of each.
using MissingWeights = std::map<int, std::map<Hash, uint64_t>>;  // by worker

// Sends workers the weights that they lack, in the order of WeightSchedule. Thread-safe.
class WeightSender {
 public:
  // REQUIRES: the links outlive it.
  WeightSender(WorkerLinks& links, DeployOptions options)
      : links_(links), options_(std::move(options)) {}

  // Returns when the workers have acknowledged all. One call at a time for a worker. Fails with
  //   kCorrupt      a worker asks for weights that are not in `weights`, or acknowledges nonsense
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

namespace message {
class Missing;
}  // namespace message

// A plan as it is sent to its workers. Made once, for any number of deployments.
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
  PlanDeployer(WorkerLinks& links, RequestRunner& runner, DeployOptions options = {});

  // A number that no other plan or service, of any coordinator, is likely to have. Drawn at random:
  // the number of one plan does not reveal that of another.
  static uint64_t make_id();

  // Fails if the plan does not fit these workers.
  Result<EncodedPlanPtr> encode(const plan::ScheduledPlan& scheduled) const;
  // Sends it to its workers and, once all of them are ready, offers it to requests under its own
  // number. On failure it is released again.
  Result<DeployedPlanPtr> deploy(const EncodedPlan& encoded, bool traced);
  // Sends it again to the workers that were lost and are back; the others keep theirs.
  Status restore(uint64_t plan, const EncodedPlan& encoded, bool traced);
  // Fails its requests, and tells its workers to drop it.
  void release(const DeployedPlan& deployed);

  // Replies of workers, on their reader threads. Unexpected ones are dropped. kCorrupt if
  // malformed.
  Status take_missing(int worker, const message::Missing& missing);
  void take_stored(int worker, const Hash& hash, uint64_t have) {
    weights_.acknowledge(worker, hash, have);
  }
  void take_working(int worker, uint64_t plan);
  void take_ready(int worker, uint64_t plan);
  void take_clock(int worker, int64_t clock);
  // `plan`: 0 if the worker did not say.
  void take_failure(int worker, uint64_t plan, const Status& status);
  void lose(int worker, const Status& why) { take_failure(worker, 0, why); }

 private:
  using Clock = std::chrono::steady_clock;

  // The kind of message that answers the current exchange with a worker.
  enum class Awaited : uint8_t { kNothing, kMissing, kReady, kReadyOrMissing, kClock };
  struct Reply {
    Status status = {};
    bool is_ready = false;
    std::map<Hash, uint64_t> missing = {};  // with the bytes that it has of each
    int64_t clock = 0;                      // of the worker, when it spoke
    Clock::time_point at = {};
  };

  // The current exchange with a worker.
  struct Exchange {
    Awaited awaited = Awaited::kNothing;
    uint64_t plan = 0;  // that it is about; 0: none
    bool answered = false;
    Reply reply = {};
    Clock::time_point heard = {};  // the last sign of progress
  };
  using Turns = std::vector<std::unique_lock<std::mutex>>;

  // REQUIRES: workers are in the order of their numbers.
  Turns turns(const std::vector<int>& workers);
  // Waits for `timeout`, and again after each sign of progress. REQUIRES: the worker's turn is
  // held, as for assign() and compare_clocks().
  Result<Reply> exchange(int worker, const message::Message& message, const std::string& payload,
                         std::chrono::milliseconds timeout);
  static Exchange opened_by(const message::Message& message);
  static bool is_answered_by(const Exchange& exchange, Awaited kind, uint64_t plan);
  void answer(int worker, Awaited kind, uint64_t plan, Reply reply);
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
  std::vector<std::mutex> turns_;  // by worker: one deployment to it at a time
  std::mutex mutex_;               // of the exchanges
  std::condition_variable changed_;
  std::vector<Exchange> exchanges_;  // by worker
};

}  // namespace shoal::cluster
