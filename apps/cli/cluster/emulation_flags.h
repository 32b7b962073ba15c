// The flags by which a worker or a coordinator is told that it is emulated. 'shoal emulate' and
// 'shoal chaos' give them to workers on the command line and to the coordinator in the environment.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apps/flags/flags.h"
#include "shoal/emulate/emulation.h"

namespace shoal::cli {

struct EmulationFlags {
  std::string file;   // cluster.toml; empty: nothing is emulated
  std::string media;  // a folder that the processes of the cluster share
  double dilation = 1;
  bool real_deploy = false;  // weights travel over the emulated links, too

  void add_to(Command& command);
  static Result<EmulationFlags> of_environment();
  // Reads the file.
  Result<emulate::Emulation> make() const;
  // The same for other processes.
  std::vector<std::string> words() const;
  std::map<std::string, std::string> environment() const;
};

}  // namespace shoal::cli
