// Emulation: the role of one process in a cluster that is emulated on this machine, or into which
// faults are injected. Workers and the coordinator are processes; their shared state (media,
// dilation, faults) lies in files of one folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shoal/cluster/emulate/faults/breakpoint.h"
#include "shoal/cluster/emulate/faults/network_faults.h"
#include "shoal/cluster/emulate/machines/dilation.h"
#include "shoal/cluster/emulate/machines/paced_device.h"
#include "shoal/cluster/net/tls/tls.h"
#include "shoal/plan/profile.h"

namespace shoal::emulate {

// A value. Machines are workers by name, and the coordinator, which has the empty name.
struct Emulation {
  plan::ClusterProfile cluster;  // without workers: nothing is emulated
  std::filesystem::path media;   // the folder
  double dilation = 1;           // at first (dilation.h)

  bool is_on() const { return !cluster.workers.empty(); }
  // The number of this machine in `cluster`. Fails with kInvalidArgument if there is none.
  Result<int> number_of(const std::string& machine) const;
  Result<std::shared_ptr<SharedDilation>> shared_dilation() const;

  // The channels of this machine: over links as slow as the cluster's if it is emulated, over the
  // faulty network if make_faults() has been called in the folder.
  Result<std::unique_ptr<net::Transport>> transport(const net::Identity& identity,
                                                    const std::string& machine,
                                                    net::TlsOptions options = {}) const;
  // How long this worker takes for its tasks. REQUIRES: is_on()
  Result<DevicePace> pace_of(const std::string& worker) const;

  // Slows one worker down by this factor, from the next task on, and restores all others.
  Status slow_down(const std::string& worker, double times) const;
  double slowness_of(const std::string& worker) const;

  // Makes one worker flip a bit of every n-th result (lying_device.h). Call it before the worker
  // starts. lies_of() is 0 for the others.
  Status let_lie(const std::string& worker, uint64_t every) const;
  uint64_t lies_of(const std::string& worker) const;

  // Enables faults for these workers. Call it before they start.
  Result<std::shared_ptr<SharedNetworkFaults>> make_faults(
      const std::vector<std::string>& workers) const;
  // Null if make_faults() has not been called.
  Result<std::shared_ptr<SharedNetworkFaults>> faults() const;
  Result<std::shared_ptr<Breakpoint>> breakpoint() const;
  // The hook that this worker calls at the points of a request (cluster/messages/fault_point.h),
  // where it may be held. Empty if faults() is null.
  Result<std::function<void(int point)>> fault_hook(const std::string& worker) const;
};

// The devices of a worker with the emulated speed, and lying if it lies.
struct WorkerDevices {
  Device& device;                                  // that computes
  Device& learner;                                 // that trains
  std::vector<std::unique_ptr<Device>> made = {};  // what these are, unless they were given
};
// Both are unchanged if nothing is emulated. Fails as pace_of(). REQUIRES: both outlive the result.
Result<WorkerDevices> devices_of(const Emulation& emulation, const std::string& worker,
                                 Device& device, Device& learner);

// The real heartbeat interval of channels whose emulated interval is `beat`: slower by the
// dilation, and ten times slower if there are radios: a worker that waits for its turn on the
// medium is silent for long without being gone.
std::chrono::milliseconds heartbeat_of(const plan::ClusterProfile& cluster, double dilation,
                                       std::chrono::milliseconds beat);

// A time, on this machine, after which all radios of an idle cluster sleep. Zero if there are none.
std::chrono::milliseconds lull_of(const plan::ClusterProfile& cluster, double dilation);

}  // namespace shoal::emulate
