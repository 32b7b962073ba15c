// WorkerPlan: one worker's part of a plan. It takes pieces, computes the tasks whose inputs are
// complete, and sends their outputs to the machines that need them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "shoal/cluster/messages/fault_point.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/cluster/tasks/deployment.h"
#include "shoal/cluster/tasks/programs.h"
#include "shoal/cluster/tasks/recorder.h"
#include "shoal/cluster/tasks/witness.h"
#include "shoal/cluster/worker/peers.h"
#include "shoal/cluster/worker/store.h"

namespace shoal::cluster {

namespace message {
class Assignment;
class Check;
class Data;
class Deploy;
}  // namespace message

// What a plan needs of its worker. REQUIRES: it outlives the plan.
struct WorkerResources {
  Programs& programs;
  const Store& store;
  Peers& peers;
  size_t request_bytes;  // of inputs that are put together, for all requests of a plan
  std::function<void()> compiled = [] {};  // called after each task
  // Called when the plan and its connections are released, on the last thread that held it: one
  // that computes, reads or sends. REQUIRES: it neither blocks nor throws.
  std::function<void()> ended = [] {};
};

inline constexpr size_t kMostAssignmentBytes = size_t{16} << 20;

// Thread-safe, except read().
class WorkerPlan : public std::enable_shared_from_this<WorkerPlan> {
 public:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  // Decodes the assignment; compiles nothing yet. Keeps the payload of the frame until the start.
  static Result<std::shared_ptr<WorkerPlan>> read(const message::Deploy& deploy,
                                                  const net::Frame& frame, ChannelPtr coordinator);
  ~WorkerPlan();

  uint64_t plan() const { return plan_; }
  const ChannelPtr& coordinator() const { return coordinator_; }
  const std::set<Hash>& weights() const { return weights_; }  // that its tasks need

  // Compiles the tasks, when the weights are present. Once only: a second call, also at the same
  // time, fails.
  Status start(const WorkerResources& resources);
  bool started() const { return started_.load(std::memory_order_acquire); }

  // Whether pieces may come over this channel: from the coordinator, or from a worker that the
  // assignment names.
  bool has_sender(const net::Channel& channel) const;
  // Takes a piece. kCorrupt if no sender of this plan sends such a piece. Any other failure fails
  // the request, and has been reported to the coordinator. `from`: the worker that sent it; empty:
  // the coordinator.
  Status take(const message::Data& data, const net::Frame& frame, const std::string& from);
  // Compares the pieces of a request when all have come, and reports to the coordinator.
  void check(const message::Check& check);

  // The coordinator no longer waits for this request.
  void forget(uint64_t request);
  // Gives the request up and reports why. REQUIRES: started()
  void fail(uint64_t request, const Status& status);

  // A worker that this one sends to was lost and is back.
  void rejoin(int worker);

  // Reports that a connection from or to this peer broke.
  void say_cut_off_from(const std::string& peer);

  // Computes a task that can run; false if there is none. REQUIRES: one call at a time.
  bool compute_one(const FaultHook& reached);
  // The time at which a task can run without further pieces, if there is one.
  std::optional<Deployment::Time> next_time() const { return deployment_->next_time(); }

 private:
  WorkerPlan();
  Status compile(const message::Assignment& assignment, const WorkerResources& resources);
  Status connect(const message::Assignment& assignment, Peers& peers);
  Status put(const message::Data& data, const net::Frame& frame, const std::string& from);
  bool compute_next(const FaultHook& reached);
  Status run(const ReadyTask& ready);
  void post(const ReadyTask& ready, const SendOrder& order, const Tensor& part);
  void deliver(uint64_t request, const SendOrder& order, const Tensor& part,
               net::Deadline deadline);
  void fail_to_reach(int peer, uint64_t request, const Status& status);
  void record(std::optional<message::Message> ended);
  void report_disputes(uint64_t request, const std::optional<std::vector<Dispute>>& disputes);
  void report(uint64_t request, const Status& status, int unreached);

  uint64_t plan_ = 0;
  bool traced_ = false;
  bool survives_ = false;  // the loss of a peer
  ChannelPtr coordinator_;
  net::Buffer assignment_;  // until it is started; counts for the coordinator's budget
  std::set<Hash> weights_;
  std::set<std::string> senders_;  // names of workers
  std::atomic<bool> starting_ = false;
  std::atomic<bool> started_ = false;
  // The members below do not change after the start.
  std::unique_ptr<Deployment> deployment_;
  std::unique_ptr<Recorder> recorder_;  // where times are wanted
  std::unique_ptr<Witness> witness_;    // where requests are checked
  std::map<int, std::shared_ptr<PeerConnection>> peers_;
  std::vector<std::shared_ptr<PeerChannels>> sender_channels_;  // kept open
  std::shared_ptr<TaskThread> to_coordinator_;
  std::function<void()> ended_ = [] {};
};

}  // namespace shoal::cluster
