// ChaosCluster: a model on worker processes of this machine, into which faults can be injected
// while it answers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/cluster/coordinator/runtime/failover_deployment.h"
#include "shoal/cluster/emulate/machines/emulation.h"
#include "shoal/cluster/emulate/workers/local_workers.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"

namespace shoal::chaos {

// Whether these are the same outputs: equal to kSameAnswer of the largest element
// (model/tensor/compare.h), with the largest element in the same place.
bool outputs_match(std::span<const Tensor> got, std::span<const Tensor> want);

// EquivalenceCheck: whether a cluster answers as one device does.
class EquivalenceCheck {
 public:
  struct Request {
    std::vector<Tensor> inputs, expected;
  };

  // Computes on `device` the answers to a few random inputs: several, so that the answer to another
  // request is not accepted as correct.
  static Result<EquivalenceCheck> make(const Graph& graph, Device& device, uint64_t seed);

  std::span<const Request> requests() const { return requests_; }

 private:
  EquivalenceCheck() = default;

  std::vector<Request> requests_;
};

struct ChaosClusterOptions {
  std::filesystem::path program = {};     // started as `program worker ...`: the binary `shoal`
  std::vector<std::string> workers = {};  // their names
  // Plans for sets of workers, as FailoverOptions::plan.
  std::function<Result<plan::Prediction>(const cluster::Workers&)> plan = nullptr;
  uint64_t seed = 1;  // of requests
  // If it has workers, these are emulated: `workers` holds their names, and they read cluster.toml.
  plan::ClusterProfile emulated = {};
  std::filesystem::path cluster_file = {};
  double dilation = 1;
  uint64_t lies = 0;    // not 0: the last worker flips a bit of every n-th of its results
  uint64_t verify = 0;  // as FailoverOptions::verify
};

// Not thread-safe, except that requests may be sent while faults are injected on another thread: by
// ask() on one thread, by ask_as() on any number.
class ChaosCluster {
 public:
  // Starts the workers, deploys the model, and computes the correct answers on `device`. REQUIRES:
  // the device and the calling thread outlive the cluster (base/processes/process.h).
  static Result<std::unique_ptr<ChaosCluster>> open(const Graph& graph, Device& device,
                                                    const ChaosClusterOptions& options);

  struct Reply {
    Status status;
    bool is_right = false;
    double ms = 0;  // in the time of the emulated world, unless said otherwise
  };
  // Sends one of a few requests, and waits for the answer.
  Reply ask();
  // The same, as this client and with its timeout. Both `ms` and the timeout are in the time of
  // this machine.
  Reply ask_as(uint64_t client, std::chrono::milliseconds timeout);

  // The handles through which faults are injected.
  cluster::LocalWorkers& workers() { return *workers_; }
  emulate::SharedNetworkFaults& network() { return *faults_; }
  emulate::Breakpoint& breakpoint() { return *breakpoint_; }

  // Real seconds per second of the emulated world.
  double dilation() const { return emulation_.dilation; }
  const std::vector<std::string>& names() const { return names_; }  // of workers
  std::vector<bool> present() const;                                // by worker
  cluster::Tally tally() const { return coordinator_->tally(); }
  cluster::Checks::Tally checks() const { return coordinator_->checks(); }
  std::vector<std::string> left_out() const;  // names of workers
  // Waits, for a limited time, until all workers are present and all plans deployed.
  void settle();

 private:
  ChaosCluster(const ChaosClusterOptions& options, Device& device, TemporaryFolder folder);
  Status start(const ChaosClusterOptions& options);
  Status connect_and_deploy(const ChaosClusterOptions& options);
  Status connect();
  Status deploy(const ChaosClusterOptions& options);
  Reply ask(const EquivalenceCheck::Request& request, const cluster::RequestOptions& options);

  const TemporaryFolder folder_;
  const emulate::Emulation emulation_;
  const std::vector<std::string> names_;
  std::mt19937_64 random_;
  std::shared_ptr<emulate::SharedNetworkFaults> faults_;
  std::shared_ptr<emulate::Breakpoint> breakpoint_;
  std::optional<cluster::LocalWorkers> workers_;
  std::optional<EquivalenceCheck> check_;
  std::unique_ptr<net::Transport> transport_;
  Device& device_;
  std::unique_ptr<cluster::Coordinator> coordinator_;
  std::unique_ptr<cluster::FailoverDeployment> deployment_;
};

}  // namespace shoal::chaos
