// The flags that tell a worker or a coordinator that it is emulated. 'shoal emulate' and 'shoal
// chaos' pass them to workers on the command line and to the coordinator in the environment.
#pragma once

#include "apps/flags/flags.h"
#include "shoal/cluster/emulate/machines/emulation.h"
#include "shoal/cluster/emulate/machines/emulation_settings.h"

namespace shoal::cli {

struct EmulationFlags : emulate::EmulationSettings {
  void add_to(Command& command);
  static Result<EmulationFlags> of_environment();
  Result<emulate::Emulation> make() const;
};

}  // namespace shoal::cli
