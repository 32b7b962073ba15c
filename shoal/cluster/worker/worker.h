// Worker: the side of a cluster that computes. It takes its parts of plans from coordinators, runs
// their tasks as the inputs arrive, and sends the outputs straight to the workers that need them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "shoal/cluster/members/epoch_file.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/cluster/worker/byte_budget.h"
#include "shoal/cluster/worker/store.h"
#include "shoal/cluster/worker/task_runner.h"
#include "shoal/cluster/worker/thread_group.h"
#include "shoal/cluster/worker/weight_receiver.h"
#include "shoal/cluster/worker/worker_plans.h"
#include "shoal/cluster/worker/working_signs.h"

namespace shoal::net {
class Membership;
}  // namespace shoal::net

namespace shoal::cluster {

namespace message {
class BeginTask;
class Failed;
class Hello;
class Measure;
class Rejoin;
}  // namespace message

struct WorkerOptions {
  std::string name = "worker";
  size_t weight_bytes = size_t{2} << 30;            // of weights in memory, at most
  size_t peer_bytes = size_t{1} << 30;              // of frames from one peer, at most
  size_t plan_bytes = size_t{2} << 30;              // of compiled plans, at most
  std::optional<WeightCache> cache = std::nullopt;  // weights on disk, for a restart
  std::optional<EpochFile> epochs = std::nullopt;   // the latest epoch, for a restart
  FaultHook reached = nullptr;                      // for fault injection
  // The tasks that coordinators may begin. Others are refused.
  TasksByName tasks = {};
  // The device of tasks: one that chooses kernels by estimate, so that all workers learn the same
  // bits. nullptr: the device of plans. Outlives the worker.
  Device* task_device = nullptr;
  // Its identity, if it has one, so that an owner can renew it.
  std::shared_ptr<net::Membership> membership = nullptr;
  // Gets a line for each peer that connects, deploys or is refused. On any thread; must not block.
  std::function<void(const std::string&)> log = [](const std::string&) {};
};

// Thread-safe, except serve().
class Worker {
 public:
  // REQUIRES: device and transport outlive the worker.
  Worker(WorkerOptions options, Device& device, net::Transport& transport);
  ~Worker();  // stops

  // Serves all coordinators that connect, on its own threads, until stop(). Once only.
  void serve(std::unique_ptr<net::Listener> listener);
  void stop();  // from any thread; returns when all threads have ended

 private:
  using ChannelPtr = std::shared_ptr<net::Channel>;
  // The subject of a message; zeros for no plan, no request or no task.
  struct Subject {
    uint64_t plan = 0, request = 0, task = 0;
  };

  void accept();
  Status admit(const ChannelPtr& channel, OpenedBy by);
  void listen(const ChannelPtr& channel);
  void read(const ChannelPtr& channel, ByteBudget& budget);
  Status take(const ChannelPtr& channel, const net::Frame& frame, Subject& subject);
  Status handle(const ChannelPtr& channel, const message::Message& message,
                const net::Frame& frame);
  // Runs `what` as a background task on a new thread and reports its failure. kExhausted, without
  // running it, if the connection has too many of them.
  Status run_errand(const ChannelPtr& channel, Subject subject, std::function<Status()> what);
  struct Errand;
  std::shared_ptr<Errand> begin_errand(const ChannelPtr& channel);
  static Subject subject_of(const message::Message& message);
  Status deploy(const ChannelPtr& channel, const message::Deploy& deploy, const net::Frame& frame);
  Status start(const ChannelPtr& channel, uint64_t plan);
  bool verify_weights(const WorkerPlan& worker_plan, WorkingSigns& signs);
  Status rejoin(const ChannelPtr& channel, const message::Rejoin& rejoin);
  Status welcome(const ChannelPtr& channel, const message::Hello& hello);
  Status renew(const ChannelPtr& channel, const std::string& certificate);
  Status follow(const ChannelPtr& channel, const message::Hello& hello);
  Status refuse(const ChannelPtr& channel, const Status& why);
  Status measure(const ChannelPtr& channel, const message::Measure& measure,
                 const net::Frame& frame);
  Status begin_task(const ChannelPtr& channel, const message::BeginTask& begin,
                    const net::Frame& frame);
  std::stop_token leaving(const ChannelPtr& channel);
  Status tell(const ChannelPtr& channel);
  Status tell_removed(const ChannelPtr& coordinator);
  Status take_piece(const ChannelPtr& channel, const message::Data& data, const net::Frame& frame);
  void forget(const ChannelPtr& channel);
  void release(const ChannelPtr& channel, uint64_t plan);
  void forget_senders(uint64_t plan);
  void close_unused_later();
  void say_cut_off(uint64_t plan, const std::string& peer);
  void hit_fault_point(FaultPoint point) const;
  Status take_refusal(const ChannelPtr& channel, const message::Failed& failed);
  void fail(const ChannelPtr& channel, Subject subject, const Status& status);
  void report_later(const ChannelPtr& channel, Subject subject, const Status& status);
  static void report_to(const ChannelPtr& channel, Subject subject, const Status& status);

  WorkerOptions options_;
  Device& device_;
  Store store_;
  WeightReceiver weights_;
  Programs programs_;

  std::mutex computing_;  // one use of the device at a time, so that measurements are true

  std::mutex mutex_;
  bool stopped_ = false;
  // The peer at the other end of a channel: a coordinator, or another worker, whichever of the two
  // workers connected.
  struct Visitor {
    std::shared_ptr<ByteBudget> budget;             // shared by all channels of one peer
    std::shared_ptr<TaskThread> reports = nullptr;  // sends errors; null: there were none
    std::stop_source leaving = {};                  // stopped when the channel ends
    int errands = 0;                                // background tasks in progress
    uint64_t epoch = 0;                             // of a coordinator that is in charge alone
    std::set<uint64_t> plans = {};  // for another worker: plans whose pieces it has sent
    uint64_t told = 0;              // counter of the deny list that it was sent, as a coordinator
  };
  std::map<ChannelPtr, Visitor> channels_;
  Epoch epoch_;  // the latest
  Peers peers_;
  TaskThread closer_{1};  // of connections that no plan uses: it waits for sends that go on
  TaskRunners task_runners_;
  WorkerPlans worker_plans_{computing_, options_.reached};
  std::unique_ptr<net::Listener> listener_;
  std::thread acceptor_;
  ThreadGroup threads_;  // for work that takes so long that pieces must not wait for it
  ThreadGroup visits_;   // one for each channel, which reads
};

}  // namespace shoal::cluster
