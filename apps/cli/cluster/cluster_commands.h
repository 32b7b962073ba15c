// The subcommands that need workers and coordinators, each in its own file.
#pragma once

#include "../cli.h"

namespace shoal::cli {

void add_chaos(Command& app, Action& action);
void add_cluster(Command& app, Action& action);
void add_demo(Command& app, Action& action);
void add_devices(Command& app, Action& action);
void add_emulate(Command& app, Action& action);
void add_worker(Command& app, Action& action);

}  // namespace shoal::cli
