// FailoverDeployment: a model on workers that come and go.
//
// Plans are deployed for the present workers and, ahead of time, for each set with one worker
// fewer: after a loss, requests use another plan without planning. A worker that comes back is
// given the plans that it had, while requests continue; a new worker is planned for when it joins.
//
// For low latency, there is one plan for each set. For throughput there are several, a round, which
// requests use in turn. If each of them uses one worker, a request goes to the worker that would
// finish it first (dealer.h).
//
// One thread of the deployment makes and deploys plans, at low priority. FailoverPolicy, which has
// no threads, decides which plans to have.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "shoal/cluster/coordinator/policy/dealer.h"
#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/cluster/coordinator/policy/strikes.h"
#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

// Plans that requests use in turn, for one graph. There is at least one.
using Turns = std::vector<plan::ScheduledPlan>;

struct FailoverOptions {
  // Makes plans that use these workers only. Called once for each set: for the first in start(),
  // then on the deployment's thread, and again after replan().
  std::function<Result<Turns>(const Workers&)> plan;
  // Make plans ahead, from the second request on. Otherwise plans are made after a loss, while
  // requests that no plan can answer wait.
  bool standby = false;
  // How often to try to connect to workers that are lost. Zero: never.
  std::chrono::milliseconds retry_interval{0};
  // Check one answered request of every `verify` for lies; 0: none. Needs plans that survive
  // losses. `judge` recomputes disputed values, and outlives the deployment. A worker whose pieces
  // were wrong twice is left out: it counts as lost and is not looked for.
  uint64_t verify = 0;
  Device* judge = nullptr;
  // Called with the reason when a worker is left out, on the deployment's thread.
  std::function<void(const Status& why)> left_out = nullptr;
  // How long a lost worker is expected back. Until then its plans are kept for it, and none are
  // made for still fewer workers.
  std::chrono::milliseconds grace{0};
  bool traced = false;  // requests can be measured
  // Called on the deployment's thread about once in a retry interval. True: as replan().
  std::function<bool()> is_outdated = nullptr;
};

// A plan as a round of one turn.
std::function<Result<Turns>(const Workers&)> one_turn(
    std::function<Result<plan::Prediction>(const Workers&)> plan);

// Thread-safe.
class FailoverDeployment {
 public:
  // Makes and deploys the first plans; ready to run when it returns. REQUIRES: the coordinator
  // outlives it.
  static Result<std::unique_ptr<FailoverDeployment>> start(Coordinator& coordinator,
                                                           FailoverOptions options);
  ~FailoverDeployment();  // REQUIRES: no request is in progress

  // Any number of requests may be in progress at once. A request whose plan fails is replayed by
  // another plan, at most Requests::kMostReplays times and before `timeout` ends. If that fails,
  // too, it ends with kUnavailable or kDeadline, and may be retried. kCancelled soon after a stop
  // is requested of `cancel`. `measured` is the timeline of the last attempt; it is left alone if
  // plans changed before all times had come. REQUIRES: it is null, or options.traced.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout, const std::stop_token& cancel = {},
             plan::Timeline* measured = nullptr) {
    return run(inputs, outputs, {.timeout = timeout, .cancel = cancel, .measured = measured});
  }
  // kExhausted, at once, if too many requests are in progress.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RequestOptions& options);
  // Likewise by a plan that only this worker uses, if there is one; uses other plans if that fails.
  Status run_on(int worker, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                const RequestOptions& options);

  const Turns& first() const { return first_; }  // those of start()
  // Tries to connect to lost workers now, and waits until all possible plans are deployed.
  void settle();
  // Has all plans made again, because their inputs have changed. Requests continue by the old plans
  // until the new ones are deployed, or if that fails. Returns at once.
  void replan();
  size_t deployed() const;  // rounds
  // The plans that requests use first now, and how often they have changed.
  Turns current() const;
  size_t changes() const;
  Workers left_out() const;  // because they lied

 private:
  struct Made {
    Turns turns;
    std::vector<EncodedPlanPtr> encoded;
  };
  struct Round {
    Turns turns;
    std::vector<std::unique_ptr<RemotePlan>> remotes;  // one for each

    bool is_whole() const;
    bool in_use() const;
    Workers workers() const;
  };

  FailoverDeployment(Coordinator& coordinator, FailoverOptions options);
  void keep();  // on its own thread
  void wake();
  Workers present() const;  // and not left out
  void look_around();
  void judge_disputes();
  void leave_out(const Workers& liars);
  enum class Mended : uint8_t { kForNow, kAsCanBe };  // kForNow: a worker is expected back
  Mended mend();
  bool restore(const Workers& present);
  bool is_interrupted();
  bool is_expected_back(const Workers& present);
  Status deploy_for(const Workers& set);
  Result<Made> make_plans(const Workers& set) const;
  Result<const Made*> plans_for(const Workers& set);
  void offer();
  void give_up(const Status& why);
  void retire();
  // The service of the next request, and its worker, if one was chosen.
  struct Dealt {
    uint64_t service = 0;
    std::optional<int> worker = {};
  };
  Dealt next_service();
  uint64_t service_of(int worker);

  Coordinator& coordinator_;
  const FailoverOptions options_;
  Turns first_;
  // Used by the deployment's thread only.
  std::map<Workers, std::unique_ptr<Made>> plans_;   // by what they were made for
  Workers latest_;                                   // present when the thread last looked
  std::chrono::steady_clock::time_point lost_at_{};  // time of the latest loss
  bool was_slow_ = false;  // a worker did not answer in time, but may the next time
  FailoverPolicy policy_;
  Strikes strikes_;
  const FailoverPolicy::IsWhole is_whole_;
  std::map<uint64_t, Round> rounds_;  // by the number that the policy knows
  std::set<uint64_t> retired_;        // a subset: they end with the last request that uses them
  uint64_t next_round_ = 1;
  uint64_t offered_ = 0;  // the round that was offered first

  mutable std::mutex mutex_;  // never held while the coordinator is called
  std::condition_variable changed_;
  // One for each turn of the current round, followed by those of a longer earlier round.
  std::vector<uint64_t> services_;
  Turns current_;
  std::map<int, size_t> alone_;  // turns that one worker has, by worker
  size_t next_turn_ = 0;
  std::vector<int> worker_of_turn_;  // where each turn is one worker's
  Dealer dealer_;  // of requests, where each turn is one worker's; otherwise without workers
  size_t deployed_ = 0, changes_ = 0;
  bool news_ = false, settled_ = false, over_ = false, outdated_ = false;
  Workers left_out_;
  std::atomic<int> asked_ = 0;
  std::thread keeper_;
};

}  // namespace shoal::cluster
