// ClusterAccess: the cluster of this user, or the emulated one that a command runs in.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "../planning.h"
#include "emulation_flags.h"
#include "shoal/cluster/cluster_connection.h"

namespace shoal::cli {

class ClusterAccess {
 public:
  using Progress = std::function<Status(const cluster::WeightsProgress&)>;

  // Connects to the workers of the folder that the environment names, or of the default one, to the
  // ranks of MPI, or to the devices of a board. Workers that do not answer, or cannot be measured,
  // are named on stderr and left out until they come. `progress` is told of weights that travel,
  // instead of a line on the terminal.
  static Result<std::unique_ptr<ClusterAccess>> open(const PlanFlags& flags,
                                                     Progress progress = nullptr);

  cluster::ClusterConnection& connection() { return *connection_; }
  const cluster::ClusterConnection& connection() const { return *connection_; }
  cluster::Coordinator& coordinator() { return connection_->coordinator(); }
  Result<plan::ClusterProfile> profile(const Graph& graph) { return connection_->profile(graph); }
  bool emulated() const { return emulation_.is_on(); }
  // Whether weights travel over emulated links as they are.
  bool deploys_really() const { return real_deploy_; }
  // Whether emulated links are slow now. Weights travel before they are, unless deploys_really():
  // then links are always slow.
  void shape(bool on) const;
  // Lets one emulated worker take so many times as long, and all others as long as they should.
  Status slow_down(const std::string& worker, double times) const {
    return emulation_.slow_down(worker, times);
  }
  // As long as it takes for the radios of all emulated workers to fall asleep.
  std::chrono::milliseconds lull() const {
    return emulate::lull_of(emulation_.cluster, dilation());
  }
  // Seconds here for every second of the workers' world: 1 unless that is emulated.
  double dilation() const { return connection_->dilation(); }
  // REQUIRES: emulated(), and no request is on its way
  void set_dilation(double dilation);

 private:
  ClusterAccess() = default;
  Status open_ranks(const std::string& device, cluster::ConnectionOptions options);
  Status open_board(std::string_view names, cluster::ConnectionOptions options);
  Status open_folder(bool exclusive, cluster::ConnectionOptions options);

  std::shared_ptr<void> ranks_;  // of MPI
  emulate::Emulation emulation_;
  bool real_deploy_ = false;
  std::shared_ptr<emulate::SharedDilation> dilation_;  // none: nothing is emulated
  std::shared_ptr<std::atomic<bool>> shaping_;         // of emulated links
  std::shared_ptr<cluster::ClusterConnection> connection_;
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
