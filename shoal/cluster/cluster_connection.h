// ClusterConnection: a coordinator that is connected to the workers of a cluster, with their
// profiles and the plans that were found for them.
//
//   const ClusterFolder folder(default_cluster_folder());
//   SHOAL_ASSIGN(auto connection, ClusterConnection::open(folder));
//   for (const Status& why : connection->coordinator().missing()) warn(why);
//   SHOAL_ASSIGN(auto profile, connection->profile(graph));
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/folder.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

struct ConnectionOptions {
  // A folder where profiles and plans are kept. Empty: they are measured and made every time.
  std::filesystem::path cache = {};
  // The workers' speeds, found by their names, where they need not be measured: those of emulated
  // devices. It may have more workers than the cluster.
  std::optional<plan::ClusterProfile> profile = std::nullopt;
  // Seconds that pass for each second of `profile`, where devices are emulated in slow motion.
  double dilation = 1;
  // Of the coordinator. The timeout is that of an undilated world.
  DeployOptions deploy = {};
};

// Thread-safe.
class ClusterConnection {
 public:
  // Connects to all workers at the same time and leaves out those that do not answer, which
  // coordinator().missing() names. Fails with the first one's error where none does, and with
  // kNotFound where there are no workers.
  static Result<std::unique_ptr<ClusterConnection>> open(std::vector<ListedWorker> workers,
                                                         std::unique_ptr<net::Transport> transport,
                                                         ConnectionOptions options = {});
  // To the workers that the folder lists, over TLS.
  static Result<std::unique_ptr<ClusterConnection>> open(const ClusterFolder& folder,
                                                         ConnectionOptions options = {});

  Coordinator& coordinator() { return *coordinator_; }
  const std::vector<ListedWorker>& workers() const { return workers_; }  // by their number
  double dilation() const { return dilation_; }
  // REQUIRES: no request is on its way.
  void set_dilation(double dilation);

  // The speed of the workers at this graph and of the links to them: as the options say, as
  // measured within a day, or measured now, which takes seconds. From then on radios that fall
  // asleep are kept awake while a request is on its way. kInvalidArgument if the options' profile
  // lacks a worker.
  Result<plan::ClusterProfile> profile(const Graph& graph);
  // Forgets the stored profile of this graph if a request took much longer, or shorter, than
  // predicted from it.
  void compare(const Graph& graph, double predicted_seconds, double measured_seconds) const;

  // As plan::make_plans(), but gives only the best plan where the cache has it.
  Result<std::vector<plan::Prediction>> make_plans(const Graph& graph,
                                                   const plan::ClusterProfile& profile,
                                                   const plan::PlanOptions& options) const;

 private:
  ClusterConnection(std::unique_ptr<net::Transport> transport, ConnectionOptions options)
      : options_(std::move(options)),
        dilation_(options_.dilation),
        transport_(std::move(transport)) {}
  Result<plan::ClusterProfile> given_profile() const;
  Result<plan::ClusterProfile> measured_profile(const Graph& graph) const;
  void keep_awake(const plan::ClusterProfile& profile);

  const ConnectionOptions options_;
  std::atomic<double> dilation_;
  const std::unique_ptr<net::Transport> transport_;
  std::vector<ListedWorker> workers_;
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace shoal::cluster
