// Arena: a model on worker processes of this machine, to which things happen while it answers.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "emulation.h"
#include "exam.h"
#include "farm.h"
#include "shoal/cluster/failover_deployment.h"

namespace shoal::cli {

struct ArenaOptions {
  size_t workers = 5;
  int survive = 1;
  uint64_t seed = 1;
  std::string cluster;  // not empty: workers are the devices of this file, emulated
  double dilation = 0;  // how much slower than them; 0: as needed
};

class Arena {
 public:
  static Result<std::unique_ptr<Arena>> open(const Graph& graph, const ArenaOptions& options);

  struct Reply {
    Status status;
    bool right = false;
    double ms = 0;  // in the time of the world that is emulated
  };
  // One of the exam's questions.
  Reply ask();

  WorkerFarm& farm() { return *farm_; }
  emulate::SharedNetworkFaults& faults() { return *faults_; }  // all are exposed to it
  emulate::Breakpoint& breakpoint() { return *breakpoint_; }   // all may be caught in it
  double stretch() const { return emulation_.dilation; }       // seconds for every second there
  const std::vector<std::string>& names() const { return names_; }  // of workers
  const cluster::Coordinator& coordinator() const { return *coordinator_; }
  std::vector<bool> states() const;  // by worker: is it there?
  // Who comes back is there, and all plans are that there should be.
  bool is_whole() const { return coordinator_->lost().empty(); }
  void until_whole();

 private:
  Arena(const ArenaOptions& options, TemporaryFolder folder);
  Status start(const Graph& graph, const ArenaOptions& options);
  Status lay_out(const ArenaOptions& options);
  Status connect();
  Status deploy(const Graph& graph, int survive);

  const TemporaryFolder folder_;
  std::mt19937_64 random_;
  Emulation emulation_;
  std::optional<plan::ClusterProfile> cluster_;  // that is emulated
  std::vector<std::string> names_;
  std::shared_ptr<emulate::SharedNetworkFaults> faults_;
  std::shared_ptr<emulate::Breakpoint> breakpoint_;
  std::optional<WorkerFarm> farm_;
  std::vector<Question> exam_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<cluster::Coordinator> coordinator_;
  std::unique_ptr<cluster::FailoverDeployment> failover_;
};

}  // namespace shoal::cli
