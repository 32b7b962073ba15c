// The flags that describe a cluster that need not be there: for plans, simulation and emulation.
#pragma once

#include <string>

#include "apps/flags/flags.h"
#include "shoal/base/status.h"
#include "shoal/plan/profile.h"

namespace shoal::cli {

// The names that there are, in one line.
std::string known_devices();
std::string known_links();

struct ClusterFlags {
  std::string file;  // in place of the rest
  size_t workers = 4;
  std::string device = "pi4";
  std::string link = "gigabit";

  void add_to(Command& command);
};

Result<plan::ClusterProfile> make_cluster(const ClusterFlags& flags);

}  // namespace shoal::cli
