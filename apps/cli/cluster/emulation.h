// How a worker or a coordinator takes part in a cluster that is emulated, or on trial, on one
// machine. Set by 'shoal emulate', for workers by flags and for the coordinator by the environment,
// and by 'shoal chaos'.
#pragma once

#include <memory>
#include <string>

#include "../parser.h"
#include "shoal/base/status.h"
#include "shoal/cluster/fault_point.h"
#include "shoal/emulate/breakpoint.h"
#include "shoal/emulate/links.h"
#include "shoal/emulate/network_faults.h"
#include "shoal/net/tls/tls.h"

namespace shoal::cli {

struct Emulation {
  std::string file;   // cluster.toml; empty: nothing is emulated
  std::string media;  // a folder, also where machines on trial share what happens to them
  double dilation = 1;

  void add_to(CLI::App& command);
  static Emulation of_environment();
  bool is_on() const { return !file.empty(); }

  // From now on, until another is named, this worker takes so many times as long.
  Status slow_down(const std::string& worker, double times) const;
  double slowness_of(const std::string& worker) const;

  // As the worker of this name, or as the coordinator ("").
  Result<emulate::EmulatedLinks> as(const std::string& worker) const;

  // A trial ('shoal chaos') of these workers begins, and what it does to all machines.
  Result<std::shared_ptr<emulate::SharedNetworkFaults>> make_weather(
      const std::vector<std::string>& workers) const;
  Result<std::shared_ptr<emulate::SharedNetworkFaults>> faults()
      const;  // null: they are on no trial
  Result<std::shared_ptr<emulate::Breakpoint>> breakpoint() const;
  // Lets the trial hold this worker at the points that it gets to.
  Result<cluster::FaultHook> watched(const std::string& worker) const;
};

// So slow that this machine can be all of them at once, and that what its own network and
// schedulers take is small against the latencies that are emulated.
double choose_dilation(const plan::ClusterProfile& cluster);

// Channels of the real network, or of the emulated one.
Result<std::unique_ptr<net::Transport>> make_transport(const net::Identity& identity,
                                                       const Emulation& emulation,
                                                       const std::string& worker,
                                                       net::TlsOptions options = {});

}  // namespace shoal::cli
