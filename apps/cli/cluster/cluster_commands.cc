// The commands for clusters, in the order of --help.
#include "cluster_commands.h"

#include "shoal/cluster/cluster.h"

namespace shoal::cli {

void add_cluster_commands(Command& app, Action& action) {
  register_cluster_device();  // before commands ask which devices there are
  for (auto* add : {add_cluster, add_worker, add_devices, add_emulate, add_chaos, add_demo})
    add(app, action);
}

}  // namespace shoal::cli
