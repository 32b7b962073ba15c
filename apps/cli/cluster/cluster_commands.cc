// The devices that come with clusters.
#include "../cli.h"
#include "shoal/cluster/cluster.h"
#include "shoal/cluster/emulate/machines/paced_device.h"

namespace shoal::cli {

void register_devices() {
  register_cluster_device();
  emulate::register_slow_device();
}

}  // namespace shoal::cli
