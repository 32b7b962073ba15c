// How a worker or a coordinator takes part in a cluster that is emulated on one machine. Set by
// 'shoal emulate', for workers by flags and for the coordinator by the environment.
#pragma once

#include <memory>
#include <string>

#include "../parser.h"
#include "shoal/base/status.h"
#include "shoal/emulate/links.h"
#include "shoal/net/tls.h"

namespace shoal::cli {

struct Emulation {
  std::string file;   // cluster.toml; empty: nothing is emulated
  std::string media;  // a folder
  double dilation = 1;

  void add_to(CLI::App& command);
  static Emulation of_environment();
  bool is_on() const { return !file.empty(); }

  // From now on, until another is named, this worker takes so many times as long.
  Status slow_down(const std::string& worker, double times) const;
  double slowness_of(const std::string& worker) const;

  // As the worker of this name, or as the coordinator ("").
  Result<emulate::EmulatedLinks> as(const std::string& worker) const;
};

// Channels of the real network, or of the emulated one.
Result<std::unique_ptr<net::Transport>> make_transport(const net::Identity& identity,
                                                       const Emulation& emulation,
                                                       const std::string& worker,
                                                       net::TlsOptions options = {});

}  // namespace shoal::cli
