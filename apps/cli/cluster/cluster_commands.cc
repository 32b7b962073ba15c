// The commands for clusters, in the order of --help.
#include "../cli.h"
#include "shoal/cluster/cluster.h"
#include "shoal/cluster/emulate/machines/paced_device.h"

namespace shoal::cli {

void register_devices() {
  register_cluster_device();
  emulate::register_slow_device();
}

void add_cluster_commands(Command& app, Action& action) {
  for (auto* add : {add_cluster, add_worker, add_devices, add_emulate, add_chaos, add_demo})
    add(app, action);
}

}  // namespace shoal::cli
