// The flags that describe a hypothetical cluster: for plans, simulation and emulation.
#pragma once

#include "apps/commands/plans/cluster_file.h"
#include "apps/flags/flags.h"

namespace shoal::cli {

struct ClusterFlags : config::ClusterSettings {
  void add_to(Command& command) {
    Option* path = command.add_option("cluster,--cluster", file,
                                      "TOML file in place of --workers, --device and --link");
    for (const Setting& setting : settings_of(*this)) {
      FlagGroup(command).add(setting)->excludes(path);
    }
  }
};

}  // namespace shoal::cli
