// ClusterAccess: the cluster that a program uses, which may be emulated on this machine. Emulated
// links are slow during requests but not, by default, while weights are sent.
//
//   SHOAL_ASSIGN(const auto access, ClusterAccess::open(folder, {.emulation = emulation}));
//   SHOAL_ASSIGN(const auto profile, access->profile(graph));
//   ...                                 // deploys plans
//   const ShapedLinks shaped(*access);  // then sends requests
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "shoal/cluster/device/cluster_connection.h"
#include "shoal/cluster/device/cluster_device.h"
#include "shoal/cluster/emulate/machines/emulation.h"

namespace shoal::emulate {

struct AccessOptions {
  Emulation emulation = {};                    // off: the workers are real
  bool real_deploy = false;                    // weights travel over slow links, too
  bool exclusive = false;                      // no other program uses the workers
  cluster::ConnectionOptions connection = {};  // its profile and dilation are set here
};

// Thread-safe, except set_dilation().
class ClusterAccess {
 public:
  // Connects to the workers that the folder lists, and renews certificates that are due. Fails as
  // ClusterConnection::open() does, and if an emulated cluster has no such machine.
  static Result<std::unique_ptr<ClusterAccess>> open(const cluster::ClusterFolder& folder,
                                                     AccessOptions options);
  // For workers that are not emulated: the devices of a board, ranks of MPI. `workers` is destroyed
  // after the connection.
  explicit ClusterAccess(std::shared_ptr<cluster::ClusterConnection> connection,
                         std::shared_ptr<void> workers = nullptr)
      : workers_(std::move(workers)), connection_(std::move(connection)) {}

  cluster::ClusterConnection& connection() { return *connection_; }
  const cluster::ClusterConnection& connection() const { return *connection_; }
  cluster::Coordinator& coordinator() { return connection_->coordinator(); }
  Result<plan::ClusterProfile> profile(const Graph& graph) { return connection_->profile(graph); }
  bool emulated() const { return emulation_.is_on(); }
  // Whether weights are sent at the speed of emulated links.
  bool deploys_really() const { return real_deploy_; }
  // Whether plans are deployed before links become slow: in an emulated world, unless
  // deploys_really().
  bool deploys_ahead() const { return emulated() && !real_deploy_; }
  // Slows emulated links down, or not. Weights are sent before that, unless deploys_really(): then
  // links are always slow.
  void shape(bool on) const;
  // Slows one emulated worker down by this factor, and restores all others.
  Status slow_down(const std::string& worker, double times) const {
    return emulation_.slow_down(worker, times);
  }
  // Likewise for the worker whose turn it is, in round-robin order. REQUIRES: there is one.
  Status slow_down_in_turn(uint64_t turn, double times) const;
  // The time for the radios of all emulated workers to fall asleep.
  std::chrono::milliseconds lull() const { return lull_of(emulation_.cluster, dilation()); }
  // Real seconds per second of the workers' world: 1 unless that is emulated.
  double dilation() const { return connection_->dilation(); }
  // REQUIRES: emulated(), and no request is in progress
  void set_dilation(double dilation);

  // The options of a device on this cluster: timeouts in emulated time, and links that are slow for
  // requests only. Background work that would disturb emulated workers (plans for losses that are
  // deployed ahead, plans that follow the load) is turned off for them. REQUIRES: this outlives the
  // device.
  cluster::ClusterOptions for_device(cluster::ClusterOptions options) const;

 private:
  std::shared_ptr<void> workers_;
  Emulation emulation_;
  bool real_deploy_ = false;
  std::shared_ptr<SharedDilation> dilation_;    // none: nothing is emulated
  std::shared_ptr<std::atomic<bool>> shaping_;  // of emulated links
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

}  // namespace shoal::emulate
