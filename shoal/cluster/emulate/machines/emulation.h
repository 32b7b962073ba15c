// Emulation: the part of one process in a cluster that is emulated on this machine, or into which
// faults are injected. Workers and the coordinator are processes; their shared state (air and
// cables, dilation, faults) lies in files of one folder.
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

  // Returns the channels of this machine: over links as slow as the cluster's if it is emulated,
  // over the faulty network if make_faults() has been called in the folder.
  Result<std::unique_ptr<net::Transport>> transport(const net::Identity& identity,
                                                    const std::string& machine,
                                                    net::TlsOptions options = {}) const;
  // Returns how long this worker takes for what it computes. REQUIRES: is_on()
  Result<DevicePace> pace_of(const std::string& worker) const;

  // Lets one worker take `times` as long as it should, and all others as long, from the next task
  // on.
  Status slow_down(const std::string& worker, double times) const;
  double slowness_of(const std::string& worker) const;

  // Lets one worker flip a bit of every n-th result (lying_device.h). To be called before it is
  // started. lies_of() is 0 for the others.
  Status let_lie(const std::string& worker, uint64_t every) const;
  uint64_t lies_of(const std::string& worker) const;

  // Faults are about to be done to these workers. To be called before they are started.
  Result<std::shared_ptr<SharedNetworkFaults>> make_faults(
      const std::vector<std::string>& workers) const;
  // Null if make_faults() has not been called.
  Result<std::shared_ptr<SharedNetworkFaults>> faults() const;
  Result<std::shared_ptr<Breakpoint>> breakpoint() const;
  // The hook that this worker calls at the points of a request (cluster/messages/fault_point.h),
  // where it may be held. Empty if faults() is null.
  Result<std::function<void(int point)>> fault_hook(const std::string& worker) const;
};

// The devices of a worker as the emulated cluster has them: as slow as theirs, and lying where it
// lies.
struct WorkerDevices {
  Device& device;                                  // that computes
  Device& learner;                                 // that trains
  std::vector<std::unique_ptr<Device>> made = {};  // what these are, unless they were given
};
// Both as they were given where nothing is emulated. Fails as pace_of(). REQUIRES: both outlive the
// result.
Result<WorkerDevices> devices_of(const Emulation& emulation, const std::string& worker,
                                 Device& device, Device& learner);

// Returns the heartbeat interval of channels whose interval would be `beat` in the emulated world.
// It is as much slower as everything is, and ten times as slow where there are radios: a worker
// that waits for its turn in the air is silent for long without being gone.
std::chrono::milliseconds heartbeat_of(const plan::ClusterProfile& cluster, double dilation,
                                       std::chrono::milliseconds beat);

// Returns a time, on this machine, after which all radios of an idle cluster sleep. Zero if there
// are none.
std::chrono::milliseconds lull_of(const plan::ClusterProfile& cluster, double dilation);

}  // namespace shoal::emulate
