#include "shoal/cluster/cluster.h"

#include "shoal/base/files/user_folders.h"
#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/cluster/device/board.h"
#include "shoal/cluster/device/cluster_device.h"
#include "shoal/engine/devices/devices.h"

namespace shoal {
namespace {

using namespace cluster;

Status check(const OpenClusterOptions& options) {
  if (options.survive < 0 || options.survive > 2) return invalid("0 to 2 losses can be survived");
  if (options.verify > 0 && (options.survive == 0 || options.throughput)) {
    return invalid("to verify answers takes `survive`, and no `throughput`");
  }
  return {};
}

// The defaults for programs that only want answers: plans for the next loss are ready ahead, and
// follow load that lasts.
ClusterOptions how_to(const OpenClusterOptions& options) {
  ClusterOptions how;
  how.objective = options.throughput ? Objective::kThroughput : Objective::kLatency;
  how.plan.survive = options.survive;
  how.timeout = options.timeout;
  how.standby = true;
  how.load_interval = std::chrono::seconds(5);
  how.verify = options.verify;
  how.left_out = options.left_out;
  return how;
}

OpenClusterOptions options_of(const DeviceOptions& options) {
  return {.throughput = options.throughput,
          .survive = options.survive,
          .verify = options.verify,
          .timeout = options.timeout};
}

}  // namespace

Result<std::unique_ptr<Device>> open_cluster(const OpenClusterOptions& options) {
  SHOAL_TRY(check(options));
  const ClusterFolder folder(options.folder.empty() ? default_cluster_folder() : options.folder);
  ConnectionOptions connecting{.cache = cache_folder(), .left_out = options.left_out};
  if (options.exclusive) {
    connecting.next_epoch = [folder](uint64_t beyond) { return folder.next_epoch(beyond); };
  }
  SHOAL_ASSIGN(std::shared_ptr<ClusterConnection> connection,
               ClusterConnection::open(folder, std::move(connecting)));
  return make_cluster_device(std::move(connection), how_to(options));
}

Result<std::unique_ptr<Device>> open_board(std::string_view names, const DeviceOptions& options) {
  const OpenClusterOptions asked = options_of(options);
  SHOAL_TRY(check(asked));
  SHOAL_ASSIGN(Board board, start_board(names, options, training_tasks()));
  SHOAL_ASSIGN(auto connection, connect_board(std::move(board), {.cache = cache_folder()}));
  ClusterOptions how = how_to(asked);
  how.standby = false;  // workers within a process are not lost
  return make_cluster_device(std::move(connection), std::move(how));
}

void register_cluster_device() {
  register_device({.name = "cluster",
                   .summary = "the workers of a cluster: cluster, or cluster:FOLDER",
                   .is_local = false,
                   .make = [](std::string_view folder, const DeviceOptions& options) {
                     OpenClusterOptions asked = options_of(options);
                     asked.folder = folder;
                     return open_cluster(asked);
                   }});
  register_device({.name = "board",
                   .summary = "devices of this machine together, as planned: board:cpu+opencl:0",
                   .is_local = false,
                   .make = open_board});
}

}  // namespace shoal
