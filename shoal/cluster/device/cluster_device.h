// ClusterDevice: a cluster as a Device. Compiling a graph plans it and deploys the plan; running it
// sends the inputs to workers and collects the outputs.
//
//   SHOAL_ASSIGN(auto connection, ClusterConnection::open(folder));
//   auto device = make_cluster_device(std::move(connection));
//   SHOAL_ASSIGN(Session session, Session::open("model.onnx", *device));
//
// Programs outside of the library use open_cluster() (cluster.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/cluster/coordinator/policy/load_policy.h"
#include "shoal/cluster/device/cluster_connection.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

// The figure that plans optimise.
enum class Objective : uint8_t {
  kLatency,     // one answer soon
  kThroughput,  // many answers a second, with many requests in progress
};

inline constexpr int kAnyWorker = -1;

struct ClusterOptions {
  Objective objective = Objective::kLatency;
  // For kThroughput, only `excluded`, `survive` and `wait_seconds` are used.
  plan::PlanOptions plan = {};
  std::chrono::milliseconds timeout{60'000};  // for one request
  // For kLatency: make plans for every loss of one worker ahead, from the second request on.
  // Ignored for kThroughput: a round may have hundreds of turns, and all workers are in use.
  bool standby = false;
  // How often to look for workers that are lost or absent (zero: never), and how long a lost one is
  // expected back: see FailoverOptions.
  std::chrono::milliseconds retry_interval{1'000};
  std::chrono::milliseconds grace{2'000};
  // How often to ask workers for their load; 0: never. Plans follow a lasting load: see LoadPolicy.
  std::chrono::milliseconds load_interval{0};
  LoadPolicyOptions load = {};
  // For kLatency and plans that survive losses: check one request of `verify` for lies, and leave
  // out workers that lie; 0: none. `left_out` is called with the reason, on any thread.
  uint64_t verify = 0;
  std::function<void(const Status& why)> left_out = nullptr;

  // Called with the plans for every set of workers, the best first, which is used. One call at a
  // time, on any thread.
  std::function<void(const Graph&, const std::vector<plan::Prediction>&)> planned = nullptr;
  // If not null, every worker has the whole network, and this returns for each client the worker
  // that answers it, or kAnyWorker. Called when workers come or go, and about once in a retry
  // interval. One call at a time, on any thread.
  std::function<std::vector<int>(const Graph&, const plan::ClusterProfile&, const Workers&)> place =
      nullptr;
  // Called with true before compile() sends anything to workers, and with false after it.
  std::function<void(bool)> compiling = nullptr;
};

// Any number of runs of its executables may be in progress at once, on any threads. A request that
// loses a worker is replayed, up to three times, by the remaining workers; then it fails with
// kUnavailable or kDeadline and may be retried. Workers that join later are measured and used: see
// FailoverDeployment. The cluster lives as long as the device and its executables.
std::unique_ptr<Device> make_cluster_device(std::shared_ptr<ProfiledCluster> cluster,
                                            ClusterOptions options = {});

// A device for each of several clients of one network, such as streams. The same graph is deployed
// once for all of them, and options.place chooses the worker of each: client c has the c-th device.
// A request whose worker is lost is replayed by another. REQUIRES: options.place is set.
std::vector<std::unique_ptr<Device>> make_client_devices(std::shared_ptr<ProfiledCluster> cluster,
                                                         ClusterOptions options, size_t clients);

}  // namespace shoal::cluster
