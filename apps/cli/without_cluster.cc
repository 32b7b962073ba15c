// In place of apps/cli/cluster/ where workers and coordinators are not built.
#include "cli.h"
#include "cluster/cluster_bench.h"

namespace shoal::cli {

void add_cluster_commands(CLI::App&, Action&) {}

Outcome bench_cluster(const ClusterBenchFlags&) {
  return {Exit::kUsage, "this shoal was built without clusters"};
}

}  // namespace shoal::cli
