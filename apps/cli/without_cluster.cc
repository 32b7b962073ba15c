// In place of apps/cli/cluster/ and the server, where workers and coordinators are not built.

#include "cli.h"
#include "cluster/cluster_bench.h"
#include "cluster/cluster_device.h"
#include "cluster/day.h"
#include "shoal/base/processes/parts.h"
#include "train/train_flags.h"

namespace shoal::cli {
namespace {

Status not_built() {
  return part_missing(Part::kClusters, "this shoal was built without clusters");
}

}  // namespace

void register_devices() {}
void add_chaos(Command&, Action&) {}
void add_cluster(Command&, Action&) {}
void add_demo(Command&, Action&) {}
void add_devices(Command&, Action&) {}
void add_emulate(Command&, Action&) {}
void add_worker(Command&, Action&) {}
void add_load(Command&, Action&) {}
void add_serve(Command&, Action&) {}

Outcome bench_cluster(const ClusterBenchFlags&) { return fail(Exit::kUsage, not_built()); }

Outcome train_on_cluster(const TrainFlags&) { return fail(Exit::kUsage, not_built()); }

Outcome train_federated(const TrainFlags&) { return fail(Exit::kUsage, not_built()); }

Outcome simulate_day(const PlanFlags&, const DayFlags&, unsigned, bool) {
  return fail(Exit::kUsage, not_built());
}

Result<plan::ClusterProfile> measure_board(const PlanFlags&) { return not_built(); }

Result<std::unique_ptr<Device>> open_cluster_device(const PlanFlags&) { return not_built(); }

Result<std::vector<std::unique_ptr<Device>>> open_client_devices(const PlanFlags&, PlaceClients,
                                                                 size_t) {
  return not_built();
}

}  // namespace shoal::cli
