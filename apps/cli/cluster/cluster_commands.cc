#include "cluster_commands.h"

#include <CLI/CLI.hpp>

namespace shoal::cli {

void add_cluster_commands(CLI::App& app, Action& action) {
  for (auto* add : {add_cluster, add_worker, add_devices, add_emulate, add_chaos, add_demo})
    add(app, action);
}

}  // namespace shoal::cli
