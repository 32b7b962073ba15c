// EmulationSettings: tells processes that they are emulated. Workers get it on their command line,
// and a program that uses the cluster in its environment.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace shoal::emulate {

// A value.
struct EmulationSettings {
  // Environment variables, one for each member.
  static constexpr const char *kFile = "SHOAL_EMULATE", *kMedia = "SHOAL_EMULATE_MEDIA",
                              *kDilation = "SHOAL_EMULATE_DILATION",
                              *kRealDeploy = "SHOAL_EMULATE_REAL_DEPLOY";

  std::string file = {};     // cluster.toml; empty: nothing is emulated
  std::string media = {};    // a folder that the processes of the cluster share
  double dilation = 1;       // as Emulation's
  bool real_deploy = false;  // weights travel over the emulated links, too

  // For 'shoal worker'. Workers do not need `weights`.
  std::vector<std::string> words() const;
  std::map<std::string, std::string> environment() const;
};

}  // namespace shoal::emulate
