// FailoverDeployment: a model on workers that come and go.
//
// A plan is deployed for the workers that are there and, ahead of time, one for each set with one
// worker fewer: after a loss, requests go on by another plan without planning. A worker that comes
// back is given the plans that it had, while requests are on their way.
//
// One thread of the deployment makes and deploys plans, at low priority. Which plans there should
// be is decided by FailoverPolicy, which has no threads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/failover_policy.h"
#include "shoal/cluster/strikes.h"
#include "shoal/device/device.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

struct FailoverOptions {
  // Makes a plan that uses these workers only. Called once for every set: for the first in start(),
  // then on the deployment's thread.
  std::function<Result<plan::Prediction>(const Workers&)> plan;
  // Make plans ahead, from the second request on. Otherwise a plan is made after a loss, while
  // requests wait.
  bool standby = false;
  // How often to try to connect to workers that are lost. Zero: never.
  std::chrono::milliseconds retry_interval{0};
  // Check one answered request of every `verify` for lies; 0: none. Takes plans that survive
  // losses. `judge` computes what is in dispute, and outlives the deployment. A worker whose pieces
  // were wrong twice is left out: it counts as lost and is not looked for.
  uint64_t verify = 0;
  Device* judge = nullptr;
  // Called with the reason when a worker is left out, on the deployment's thread.
  std::function<void(const Status& why)> left_out = nullptr;
  // How long a lost worker is expected back. Until then the plans that it had are kept for it, and
  // none are made for still fewer workers.
  std::chrono::milliseconds grace{0};
};

// Thread-safe.
class FailoverDeployment {
 public:
  // Makes and deploys the first plan; ready to run when it returns. REQUIRES: the coordinator
  // outlives it.
  static Result<std::unique_ptr<FailoverDeployment>> start(Coordinator& coordinator,
                                                           FailoverOptions options);
  ~FailoverDeployment();  // REQUIRES: no request is on its way

  // Any number of requests may be on their way at once. A request whose plan fails is replayed
  // once, by another plan, before `timeout` ends. If that fails, too, it ends with kUnavailable or
  // kDeadline, and is worth another try. kCancelled soon after a stop is requested of `cancel`.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout, const std::stop_token& cancel = {});

  // The plan of start(). Lives as long as the deployment.
  const plan::Prediction& first() const { return *first_; }
  // Tries now to connect to lost workers, and waits until all plans are deployed that can be.
  void settle();
  size_t deployed() const;   // plans
  Workers left_out() const;  // because they lied

 private:
  struct Made {
    plan::Prediction prediction;
    EncodedPlanPtr encoded;
  };

  FailoverDeployment(Coordinator& coordinator, FailoverOptions options);
  void keep();  // on a thread of its own
  void wake();
  void look_for_the_lost();
  void judge_disputes();
  void leave_out(const Workers& liars);
  enum class Mended : uint8_t { kForNow, kAsCanBe };  // kForNow: a worker is expected back
  Mended mend();
  bool restore(const Workers& present);
  bool is_interrupted();
  bool is_expected_back(const Workers& present);
  Status deploy_for(const Workers& set);
  Result<Made> make_plan(const Workers& set) const;
  Result<const Made*> plan_for(const Workers& set);
  void retire();
  Workers present() const;

  Coordinator& coordinator_;
  const FailoverOptions options_;
  const plan::Prediction* first_ = nullptr;
  // Used by the deployment's thread only.
  std::map<Workers, std::unique_ptr<Made>> plans_;   // by what they were made for
  Workers latest_;                                   // present when the thread last looked
  std::chrono::steady_clock::time_point lost_at_{};  // time of the latest loss
  FailoverPolicy policy_;
  Strikes strikes_;
  const FailoverPolicy::IsWhole is_whole_;
  std::map<uint64_t, std::unique_ptr<RemotePlan>> remotes_;
  std::set<uint64_t> retired_;  // a subset: they end with the last request that uses them
  const uint64_t service_;

  mutable std::mutex mutex_;  // never held while the coordinator is called
  std::condition_variable changed_;
  size_t deployed_ = 0;
  Workers left_out_;
  bool news_ = false, settled_ = false, over_ = false;
  std::atomic<int> asked_ = 0;
  std::thread keeper_;
};

}  // namespace shoal::cluster
