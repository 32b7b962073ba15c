// Coordinator: knows the workers, gives each its part of a plan, sends requests in and collects the
// answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "shoal/cluster/fault_point.h"
#include "shoal/cluster/greeting.h"
#include "shoal/cluster/measurement.h"
#include "shoal/cluster/outbox.h"
#include "shoal/cluster/requests.h"
#include "shoal/cluster/waker.h"
#include "shoal/cluster/wire.h"
#include "shoal/net/transport.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {

namespace message {
class Cut;
class Data;
class Failed;
}  // namespace message

struct CoordinatorOptions {
  // Of a coordinator that is in charge alone: workers leave those of earlier epochs, and refuse
  // them by name. Zero: it shares its workers with whoever comes.
  uint64_t epoch = 0;
  // Workers that do not answer are lost from the start, rather than an error. They may come.
  bool partial = false;
  // Of requests: by which worker a part of the answer came, or that a request is about to begin
  // (plan::kCoordinator).
  std::function<void(FaultPoint, int worker)> reached = nullptr;
};

class RemotePlan;

// A plan as its workers are to be told of it. Made once, for any number of deployments.
struct EncodedPlan {
  Graph graph;
  plan::Plan plan;
  plan::Schedule schedule;
  std::vector<std::string> assignments;  // by worker; empty: it has no part in it
  std::map<Hash, Tensor> weights;        // by what assignments call them
};
using EncodedPlanPtr = std::shared_ptr<const EncodedPlan>;

// What became of the requests so far.
struct Tally {
  uint64_t answered = 0, failed = 0, replayed = 0;
  uint64_t resent_to_dead = 0;  // pieces of replayed requests, to workers that did not take them
};

class Coordinator {
 public:
  // The transport outlives the coordinator. Fails, with the worker's address, if one cannot be
  // reached or speaks another version.
  static Result<std::unique_ptr<Coordinator>> connect(const std::vector<std::string>& addresses,
                                                      net::Transport& transport,
                                                      CoordinatorOptions options = {});
  ~Coordinator();  // no plan of it may be left

  const std::vector<WorkerInfo>& workers() const { return infos_; }
  // From now on these workers hear something every so often while a request is on its way, so that
  // their radios do not fall asleep.
  void keep_awake(std::vector<int> workers, std::chrono::milliseconds interval) {
    waker_->watch_over(std::move(workers), interval);
  }
  net::Traffic traffic() const;  // of all channels to workers
  Tally tally() const;
  std::vector<int> lost() const;  // workers that are gone, by number
  // Connects to one that is gone. It has no plans then, whatever it had.
  Status revive(int worker);
  // Called at every loss, and when a plan is damaged otherwise; must not call back. Nothing: not
  // any more.
  void watch(const void* who, std::function<void()> watcher);

  Result<EncodedPlanPtr> brief(const Graph& graph, const plan::Plan& plan) const;
  // Weights that a worker does not have travel now. Ready to run when it returns. Only a traced
  // plan can be measured.
  Result<std::unique_ptr<RemotePlan>> deploy(EncodedPlanPtr encoded, bool traced = false);
  Result<std::unique_ptr<RemotePlan>> deploy(const Graph& graph, const plan::Plan& plan,
                                             bool traced = false);

  // Plans that compute the same, under one number: see Requests.
  uint64_t make_service() { return next_plan_++; }
  void offer(uint64_t service, std::vector<uint64_t> plans, bool mended = false);
  void give_up(uint64_t service, const Status& why);
  // Carries a request out, on the caller's thread, and measures it if that is wanted.
  Status run(uint64_t service, std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout, plan::Timeline* measured);

 private:
  friend class RemotePlan;

  // The way to a worker, until it is lost.
  struct Link {
    std::shared_ptr<net::Channel> channel;
    std::unique_ptr<Outbox> outbox;  // of what must not hold up others
    std::thread reader;

    ~Link();  // closes
  };
  using LinkPtr = std::shared_ptr<Link>;
  // What a worker has said to a deployment.
  struct Reply {
    bool came = false;
    Status status;
    std::vector<Hash> missing;
  };
  Coordinator(net::Transport& transport, CoordinatorOptions options)
      : transport_(transport), options_(std::move(options)) {}
  Result<LinkPtr> reach(size_t worker, net::Deadline deadline);
  void start_reading(size_t worker, Link& link);
  void read(size_t worker, Link& link);
  LinkPtr link_of(int worker) const;  // null where there never was one
  Status send_to(int worker, const message::Message& message,
                 std::span<const net::Bytes> payload = {}, bool urgent = false) const;
  void wake(int worker) const;
  Status handle(size_t worker, const net::Frame& frame);
  Status collect(size_t worker, const message::Data& data, const net::Frame& frame);
  void hear_of_failure(size_t worker, const message::Failed& failed);
  void hear_of_cut(size_t worker, const message::Cut& cut);
  void tell_watchers() const;
  void lose(size_t worker, const Link& link, const Status& why);
  Status assign(size_t worker, uint64_t plan, bool traced, const EncodedPlan& encoded);
  std::vector<int> workers_that_have(uint64_t plan) const;
  Status restore(uint64_t plan, bool traced, const EncodedPlan& encoded, int worker);
  Result<Reply> exchange(size_t worker, const message::Message& message, const std::string& payload,
                         std::chrono::seconds timeout);

  void begin(const Attempt& attempt, const std::vector<size_t>& sends,
             std::span<const Tensor> inputs);
  void send_input(Link& link, const Attempt& attempt, size_t transfer, const Tensor& elements);
  bool may_send(uint64_t attempt, size_t transfer, size_t worker);
  void note_unsent(uint64_t attempt);
  void forget(const Attempt& attempt);
  Status await_times(std::unique_lock<std::mutex>& lock, const Attempt& attempt,
                     net::Deadline deadline, plan::Timeline& measured);
  Status described(const Outcome& outcome) const;

  net::Transport& transport_;
  const CoordinatorOptions options_;
  std::vector<WorkerInfo> infos_;
  std::mutex deploying_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const void*, std::function<void()>> watchers_;
  std::vector<LinkPtr> links_;
  std::vector<Status> lost_;    // by worker; why it is gone
  std::vector<Reply> replies_;  // by worker; one exchange at a time
  Requests requests_;
  Tally tally_;
  std::map<uint64_t, Measurement> measurements_;  // by attempt
  std::atomic<uint64_t> next_plan_ = 0;
  // First to go: it uses the rest.
  std::optional<Waker> waker_{std::in_place, [this](int worker) { wake(worker); }};
};

// A plan on its workers. Any number of requests may be on their way at once.
class RemotePlan {
 public:
  ~RemotePlan();  // releases it

  // Sends the request and waits for the answer, and for all times if they are wanted. kUnavailable
  // and kDeadline name the worker; both are worth another try.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout, plan::Timeline* measured = nullptr);

  uint64_t id() const { return deployed_->id; }
  const std::vector<int>& workers() const { return workers_; }  // that it uses, in order
  bool is_whole() const;                                        // all of them still have it
  // Gives it again to those who were gone and are back; the others keep what they have.
  Status restore();
  bool in_use() const;  // a request is on its way by it

 private:
  friend class Coordinator;
  RemotePlan(Coordinator& coordinator, DeployedPlanPtr deployed, EncodedPlanPtr encoded,
             bool traced)
      : coordinator_(coordinator),
        deployed_(std::move(deployed)),
        encoded_(std::move(encoded)),
        traced_(traced),
        workers_(plan::workers_of(deployed_->plan)) {}

  Coordinator& coordinator_;
  const DeployedPlanPtr deployed_;
  const EncodedPlanPtr encoded_;
  const bool traced_;
  const std::vector<int> workers_;
};

}  // namespace shoal::cluster
