// Worker: serves coordinators. Takes parts of plans, runs them as their inputs arrive, and sends
// what others need straight to them.
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
  size_t weight_bytes = size_t{2} << 30;            // that it keeps at most
  std::optional<WeightCache> cache = std::nullopt;  // where it finds them after a restart
  std::optional<EpochFile> epochs = std::nullopt;   // and whom it followed
  FaultHook reached = nullptr;
};

class Worker {
 public:
  // Device and transport outlive the worker.
  Worker(WorkerOptions options, Device& device, net::Transport& transport);
  ~Worker();  // stops

  // Serves who comes, on threads of its own, until stop().
  void serve(std::unique_ptr<net::Listener> listener);
  void stop();

 private:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  void accept();
  void listen(const ChannelPtr& channel);
  Status handle(const ChannelPtr& channel, const net::Frame& frame);
  Status deploy(const ChannelPtr& channel, const message::Deploy& deploy, const net::Frame& frame);
  Status start(const ChannelPtr& channel, uint64_t plan);
  Status rejoin(const ChannelPtr& channel, const message::Rejoin& rejoin);
  Status welcome(const ChannelPtr& channel, const message::Hello& hello);
  Status follow(const ChannelPtr& channel, uint64_t epoch);
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

  std::mutex computing_;  // the device does one thing at a time, lest measurements lie

  std::mutex mutex_;
  bool stopped_ = false;
  // What is known of who has come.
  struct Visitor {
    uint64_t epoch = 0;        // of a coordinator that is in charge alone
    std::set<uint64_t> plans;  // that it brought pieces of, as another worker
  };
  std::map<ChannelPtr, Visitor> channels_;
  Epoch epoch_;  // the latest
  Peers peers_;
  WorkerPlans worker_plans_{computing_, options_.reached};
  std::unique_ptr<net::Listener> listener_;
  std::thread acceptor_;
  ThreadGroup threads_;  // what takes so long that pieces must not wait for it
  ThreadGroup visits_;   // who has come is listened to
};

}  // namespace shoal::cluster
