// The subcommands that need workers and coordinators, each in its own file.
#pragma once

#include "../cli.h"

namespace shoal::cli {

void add_chaos(CLI::App& app, Action& action);
void add_cluster(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_emulate(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);

}  // namespace shoal::cli
