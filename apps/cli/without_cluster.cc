// In place of apps/cli/cluster/ and the server, where workers and coordinators are not built.

#include "cli.h"
#include "cluster/cluster_bench.h"
#include "cluster/cluster_device.h"
#include "cluster/day.h"
#include "train/train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kNotBuilt = "this shoal was built without clusters";

}  // namespace

void register_devices() {}
void add_cluster_commands(Command&, Action&) {}
void add_load(Command&, Action&) {}
void add_serve(Command&, Action&) {}

Outcome bench_cluster(const ClusterBenchFlags&) { return {Exit::kUsage, kNotBuilt}; }

Outcome train_on_cluster(const TrainFlags&) { return {Exit::kUsage, kNotBuilt}; }

Outcome train_federated(const TrainFlags&) { return {Exit::kUsage, kNotBuilt}; }

Outcome simulate_day(const PlanFlags&, const DayFlags&, unsigned, bool) {
  return {Exit::kUsage, kNotBuilt};
}

Result<plan::ClusterProfile> measure_board(const PlanFlags&) {
  return Status(Code::kUnsupported, kNotBuilt);
}

Result<std::unique_ptr<Device>> open_cluster_device(const PlanFlags&) {
  return Status(Code::kUnsupported, kNotBuilt);
}

Result<std::vector<std::unique_ptr<Device>>> open_client_devices(const PlanFlags&, PlaceClients,
                                                                 size_t) {
  return Status(Code::kUnsupported, kNotBuilt);
}

}  // namespace shoal::cli
