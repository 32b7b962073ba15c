#include "shoal/cluster/cluster.h"

#include "shoal/base/user_folders.h"
#include "shoal/cluster/cluster_device.h"
#include "shoal/devices/devices.h"

namespace shoal {

Result<std::unique_ptr<Device>> open_cluster(const OpenClusterOptions& options) {
  using namespace cluster;
  if (options.survive < 0 || options.survive > 2) return invalid("0 to 2 losses can be survived");
  if (options.verify > 0 && (options.survive == 0 || options.throughput)) {
    return invalid("to verify answers takes `survive`, and no `throughput`");
  }
  const ClusterFolder folder(options.folder.empty() ? default_cluster_folder() : options.folder);
  ConnectionOptions connecting{.cache = cache_folder(), .left_out = options.left_out};
  if (options.exclusive) {
    connecting.next_epoch = [folder](uint64_t beyond) { return folder.next_epoch(beyond); };
  }
  SHOAL_ASSIGN(std::shared_ptr<ClusterConnection> connection,
               ClusterConnection::open(folder, std::move(connecting)));
  // The defaults for programs that only want answers: plans for the next loss are ready ahead, and
  // follow load that lasts.
  ClusterOptions how;
  how.objective = options.throughput ? Objective::kThroughput : Objective::kLatency;
  how.plan.survive = options.survive;
  how.timeout = options.timeout;
  how.standby = true;
  how.load_interval = std::chrono::seconds(5);
  how.verify = options.verify;
  how.left_out = options.left_out;
  return make_cluster_device(std::move(connection), std::move(how));
}

void register_cluster_device() {
  register_device({.name = "cluster",
                   .summary = "the workers of a cluster: cluster, or cluster:FOLDER",
                   .is_local = false,
                   .make = [](std::string_view folder, const DeviceOptions& options) {
                     return open_cluster({.folder = folder,
                                          .throughput = options.throughput,
                                          .survive = options.survive,
                                          .verify = options.verify,
                                          .timeout = options.timeout});
                   }});
}

}  // namespace shoal
