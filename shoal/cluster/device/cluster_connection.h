// ClusterConnection: a coordinator that is connected to the workers of a cluster, with their
// profiles and the plans that were found for them.
//
//   const ClusterFolder folder(default_cluster_folder());
//   SHOAL_ASSIGN(auto connection, ClusterConnection::open(folder));
//   // Workers that do not answer yet are used when they join: see FailoverDeployment.
//   SHOAL_ASSIGN(auto profile, connection->profile(graph));
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/profiling/worker_probe.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

struct ConnectionOptions {
  // A folder where profiles and plans are kept. Empty: they are measured and made every time.
  std::filesystem::path cache = {};
  // The workers' speeds, by name, if they need not be measured: those of emulated devices. It may
  // have more workers than the cluster.
  std::optional<plan::ClusterProfile> profile = std::nullopt;
  // Real seconds per second of `profile`, if devices are emulated in slow motion.
  double dilation = 1;
  // For the coordinator. Timeouts are those of an undilated world.
  DeployOptions deploy = {};
  // Gives an epoch greater than `beyond`: the coordinator is in charge alone. nullptr: it shares
  // its workers. See ClusterFolder::next_epoch().
  std::function<Result<uint64_t>(uint64_t beyond)> next_epoch = nullptr;
  // Called for each worker that does not answer, or cannot be measured, with its name: plans leave
  // it out for now. On any thread.
  std::function<void(const Status& why)> left_out = nullptr;
};

// A coordinator with the speed of its workers, and plans for them.
class ProfiledCluster {
 public:
  virtual ~ProfiledCluster() = default;
  virtual Coordinator& coordinator() = 0;
  // The speed of these workers at this graph, by their numbers; others are absent from it.
  virtual Result<plan::ClusterProfile> profile(const Graph& graph, const Workers& which) = 0;
  // The best first.
  virtual Result<std::vector<plan::Prediction>> make_plans(
      const Graph& graph, const plan::ClusterProfile& profile,
      const plan::PlanOptions& options) const = 0;
};

// A worker's report about itself, and the round-trip time of asking for it.
struct WorkerReport {
  WorkerState state;
  double round_trip_seconds = 0;
};

// Thread-safe.
class ClusterConnection : public ProfiledCluster {
 public:
  // Connects to all workers at the same time. Those that do not answer within two seconds are lost
  // for now. Fails with the first one's error if none answers, and with kNotFound if there are no
  // workers.
  static Result<std::unique_ptr<ClusterConnection>> open(std::vector<ListedWorker> workers,
                                                         std::unique_ptr<net::Transport> transport,
                                                         ConnectionOptions options = {});
  // To the workers that the folder lists, over TLS.
  static Result<std::unique_ptr<ClusterConnection>> open(const ClusterFolder& folder,
                                                         ConnectionOptions options = {});

  Coordinator& coordinator() override { return *coordinator_; }
  const std::vector<ListedWorker>& workers() const { return workers_; }  // by their number
  double dilation() const { return dilation_; }
  // REQUIRES: no request is in progress.
  void set_dilation(double dilation);

  // The speed of these workers at this graph and of the links to them: from the options, measured
  // within a day, or measured now, which takes seconds. Other workers, and those that cannot be
  // measured, are absent from it. From then on radios that fall asleep are kept awake during
  // requests. Fails with the first error if none can be measured, and with kInvalidArgument if the
  // options' profile lacks a worker.
  Result<plan::ClusterProfile> profile(const Graph& graph, const Workers& which) override;
  // Of the present workers.
  Result<plan::ClusterProfile> profile(const Graph& graph) {
    return profile(graph, coordinator_->present());
  }
  // Asks the present workers about themselves, all at the same time, over separate connections that
  // are kept. nullopt for workers that do not answer. Takes up to seconds.
  std::vector<std::optional<WorkerReport>> ask_workers();
  // The links to workers as last measured, by number; nullopt if never measured.
  std::vector<std::optional<plan::LinkProfile>> known_links() const;
  // Seconds that each of these graphs takes on each worker: from the options' profile, or measured
  // now. nullopt for workers that are absent or cannot be measured.
  std::vector<std::optional<std::vector<double>>> time(std::span<const Graph> graphs) const;
  // The largest factor by which other programs now slow down the machine of a worker that answers:
  // see plan::slowdown(). 1 if speeds are given.
  double slowdown() const;
  // Whether several present workers have addresses of one machine. False if speeds are given.
  bool shares_machine() const;
  // Forgets the stored profiles of this graph if a request took much longer, or shorter, than
  // predicted from them.
  void compare(const Graph& graph, double predicted_seconds, double measured_seconds) const;
  void forget_profiles(const Graph& graph) const;

  // As plan::make_plans(), but returns only the best plan if it is in the cache.
  Result<std::vector<plan::Prediction>> make_plans(const Graph& graph,
                                                   const plan::ClusterProfile& profile,
                                                   const plan::PlanOptions& options) const override;

 private:
  ClusterConnection(std::unique_ptr<net::Transport> transport, ConnectionOptions options)
      : options_(std::move(options)),
        dilation_(options_.dilation),
        transport_(std::move(transport)) {}
  Status connect();
  std::optional<std::vector<double>> time_on(int worker, std::span<const Graph> graphs) const;
  Result<plan::ClusterProfile> given_profile(const Workers& which) const;
  Result<plan::ClusterProfile> measured_profile(const Graph& graph, const Workers& which) const;
  void leave_out(const Status& why) const;
  void keep_awake(const plan::ClusterProfile& profile);

  const ConnectionOptions options_;
  std::atomic<double> dilation_;
  const std::unique_ptr<net::Transport> transport_;
  std::vector<ListedWorker> workers_;
  mutable std::mutex mutex_;
  std::map<int, plan::LinkProfile> sleepers_;  // workers whose radios fall asleep
  std::map<int, plan::LinkProfile> links_;     // of workers that were measured
  std::mutex asking_;                          // taken before mutex_
  std::map<int, WorkerProbe> probes_;          // of ask_workers()
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace shoal::cluster
