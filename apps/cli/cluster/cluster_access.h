// ClusterAccess: the cluster of this user, or the emulated one that a command runs in.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "../planning.h"
#include "emulation.h"
#include "kept_channels.h"
#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/folder.h"
#include "shoal/plan/profile.h"

namespace shoal::cli {

class ClusterAccess {
 public:
  // Connects to the workers of the folder that the environment names, or of the default one, or to
  // the ranks of MPI. Those that do not answer are named on stderr and left out.
  static Result<std::unique_ptr<ClusterAccess>> open(const PlanFlags& flags);

  cluster::Coordinator& coordinator() { return *coordinator_; }
  // How fast its workers are at this graph, and the links to them: as emulated, as measured not
  // long ago, or measured now. From then on those whose radios sleep are kept awake during
  // requests.
  Result<plan::ClusterProfile> profile(const Graph& graph) const;
  // Measure again next time, if a request that should have taken so long took much longer or
  // shorter.
  void compare(const Graph& graph, double predicted_seconds, double measured_seconds) const;
  bool emulated() const { return emulation_.is_on(); }
  // Whether emulated links are slow now. Weights travel before they are.
  void shape(bool on) const;
  // Lets one emulated worker take so many times as long, and all others as long as they should.
  Status slow_down(const std::string& worker, double times) const {
    return emulation_.slow_down(worker, times);
  }
  // As long as it takes for the radios of all workers to fall asleep.
  std::chrono::milliseconds lull() const { return lull_; }
  double dilation() const { return emulation_.is_on() ? emulation_.dilation : 1; }

 private:
  ClusterAccess() = default;
  Result<plan::ClusterProfile> measured_profile(const Graph& graph) const;
  Result<plan::ClusterProfile> emulated_profile() const;
  void keep_awake(const plan::ClusterProfile& profile) const;
  Status open_ranks();
  Status open_folder();
  Status find_workers(const std::vector<cluster::ListedWorker>& listed);

  std::shared_ptr<void> ranks_;  // of MPI
  Emulation emulation_;
  std::chrono::milliseconds lull_{0};
  std::shared_ptr<std::atomic<bool>> shaping_;  // of emulated links
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<KeptChannels> found_;         // on which workers answered
  std::vector<cluster::ListedWorker> workers_;  // that answer
  std::unique_ptr<cluster::Coordinator> coordinator_;
};

// Links are slow while it lives.
class ShapedLinks {
 public:
  explicit ShapedLinks(const ClusterAccess& access) : access_(access) { access_.shape(true); }
  ~ShapedLinks() { access_.shape(false); }
  ShapedLinks(const ShapedLinks&) = delete;
  ShapedLinks& operator=(const ShapedLinks&) = delete;

 private:
  const ClusterAccess& access_;
};

}  // namespace shoal::cli
