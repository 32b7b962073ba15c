// FailoverDeployment: a model on workers that come and go. For those that are there, and for each
// set with one fewer, a plan is made and deployed ahead: a loss is answered by another plan, not by
// planning. Who comes back is given what it had, and folded in while requests are on their way.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/failover_policy.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

struct FailoverOptions {
  // A plan that uses these workers only. Asked once for every set; on a thread of the failover, but
  // for the first.
  std::function<Result<plan::Prediction>(const Workers&)> plan;
  // Whether to make plans ahead, from the second request on. Without, a loss is planned for when it
  // happens, and requests wait.
  bool standby = false;
  // How often to look whether who is lost has come back. Zero: never.
  std::chrono::milliseconds retry_interval{0};
  // Who is lost is expected back for so long: until then plans that it had are kept for it, and
  // none are made for still fewer workers.
  std::chrono::milliseconds grace{0};
};

class FailoverDeployment {
 public:
  // Ready to run when it returns. The coordinator outlives it.
  static Result<std::unique_ptr<FailoverDeployment>> start(Coordinator& coordinator,
                                                           FailoverOptions options);
  ~FailoverDeployment();  // no request may be on its way

  // A request whose plan fails is replayed once, by another plan, before `timeout` ends. After
  // that, kUnavailable or kDeadline: it is worth another try.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout);

  // The plan that the failover began with.
  const plan::Prediction& first() const { return *first_; }
  // Looks now who has come back, and waits until all plans are there that can be.
  void settle();
  size_t deployed() const;  // plans

 private:
  struct Made {
    plan::Prediction prediction;
    EncodedPlanPtr encoded;
  };

  FailoverDeployment(Coordinator& coordinator, FailoverOptions options);
  void keep();  // on a thread of its own
  void wake();
  void look_for_the_lost();
  enum class Mended : uint8_t { kForNow, kAsCanBe };  // while someone is expected back, or wholly
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
  // Of the thread that keeps it.
  std::map<Workers, std::unique_ptr<Made>> plans_;   // by what they were made for
  Workers latest_;                                   // who was there when it last looked
  std::chrono::steady_clock::time_point lost_at_{};  // one of them
  FailoverPolicy policy_;
  const FailoverPolicy::IsWhole is_whole_;
  std::map<uint64_t, std::unique_ptr<RemotePlan>> remotes_;
  std::set<uint64_t> retired_;  // of them: they end with the last request that began by them
  const uint64_t service_;

  mutable std::mutex mutex_;  // never held while the coordinator is called
  std::condition_variable changed_;
  size_t deployed_ = 0;
  bool news_ = false, settled_ = false, over_ = false;
  std::atomic<int> asked_ = 0;
  std::thread keeper_;
};

}  // namespace shoal::cluster
