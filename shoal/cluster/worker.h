// Worker: the side of a cluster that computes. It takes its parts of plans from coordinators, runs
// their tasks as the inputs arrive, and sends the outputs straight to the workers that need them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "shoal/cluster/epoch_file.h"
#include "shoal/cluster/store.h"
#include "shoal/cluster/thread_group.h"
#include "shoal/cluster/worker_plans.h"
#include "shoal/net/transport.h"

namespace shoal::cluster {

namespace message {
class Hello;
class Measure;
class Rejoin;
}  // namespace message

struct WorkerOptions {
  std::string name = "worker";
  size_t weight_bytes = size_t{2} << 30;            // of weights in memory, at most
  size_t plan_bytes = size_t{2} << 30;              // of compiled plans, at most
  std::optional<WeightCache> cache = std::nullopt;  // weights on disk, for a restart
  std::optional<EpochFile> epochs = std::nullopt;   // the latest epoch, for a restart
  FaultHook reached = nullptr;                      // for fault injection
};

// Thread-safe, but for serve().
class Worker {
 public:
  // REQUIRES: device and transport outlive the worker.
  Worker(WorkerOptions options, Device& device, net::Transport& transport);
  ~Worker();  // stops

  // Serves all coordinators that connect, on threads of its own, until stop(). Once only.
  void serve(std::unique_ptr<net::Listener> listener);
  void stop();  // from any thread; returns when all threads have ended

 private:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  void accept();
  void listen(const ChannelPtr& channel);
  Status handle(const ChannelPtr& channel, const net::Frame& frame);
  Status deploy(const ChannelPtr& channel, const message::Deploy& deploy, const net::Frame& frame);
  Status start(const ChannelPtr& channel, uint64_t plan);
  Status rejoin(const ChannelPtr& channel, const message::Rejoin& rejoin);
  Status welcome(const ChannelPtr& channel, const message::Hello& hello);
  Status follow(const ChannelPtr& channel, const message::Hello& hello);
  Status refuse(const ChannelPtr& channel, const Status& why);
  Status measure(const ChannelPtr& channel, const message::Measure& measure,
                 const net::Frame& frame);
  Status tell(const ChannelPtr& channel);
  Status take_piece(const ChannelPtr& channel, const message::Data& data, const net::Frame& frame);
  void forget(const ChannelPtr& channel);
  void release(WorkerPlanPtr worker_plan);
  void release_later(const ChannelPtr& channel, uint64_t plan);
  void say_cut_off(uint64_t plan, const std::string& peer);
  void hit_fault_point(FaultPoint point) const;
  static void report_to(const ChannelPtr& channel, const Status& status);

  WorkerOptions options_;
  Device& device_;
  Store store_;
  Programs programs_;

  std::mutex computing_;  // one use of the device at a time, so that measurements are true

  std::mutex mutex_;
  bool stopped_ = false;
  // A machine that has connected: a coordinator or another worker.
  struct Visitor {
    uint64_t epoch = 0;        // of a coordinator that is in charge alone
    std::set<uint64_t> plans;  // plans of which it has sent pieces, as another worker
  };
  std::map<ChannelPtr, Visitor> channels_;
  Epoch epoch_;  // the latest
  Peers peers_;
  WorkerPlans worker_plans_{computing_, options_.reached};
  std::unique_ptr<net::Listener> listener_;
  std::thread acceptor_;
  ThreadGroup threads_;  // for work that takes so long that pieces must not wait for it
  ThreadGroup visits_;   // one for each visitor, which reads
};

}  // namespace shoal::cluster
