#include "shoal/shrink/table_for.h"

#include <vector>

#include "shoal/passes/passes.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/retrain.h"

namespace shoal::shrink {

Result<LatencyTable> table_for(const NetworkForBatch& network, const compress::Groups& groups,
                               const ShrinkOptions& options, Device& runs,
                               const TableOptions& how) {
  SHOAL_ASSIGN(const LoadedGraph one, network(1));
  if (!options.device.empty()) {
    SHOAL_ASSIGN(plan::ClusterProfile cluster, plan::find_cluster(options.device));
    const bool alone = cluster.workers.size() == 1;
    const StepTimer timer =
        alone ? timer_by(cluster.workers[0]) : timer_by_plan(std::move(cluster));
    return tabulate(one.graph, groups, timer, how);
  }
  SHOAL_ASSIGN(const Graph dense, passes::optimize(one.graph));
  SHOAL_ASSIGN(const StepTimer timer, timer_on(runs, dense));
  SHOAL_ASSIGN(LatencyTable table, tabulate(one.graph, groups, timer, how));
  if (options.measure_seconds > 0) {
    SHOAL_ASSIGN(const std::vector<double> ms,
                 measured_ms(runs, {network}, options.measure_seconds));
    const double whole = table.ms(all_kept(groups));
    if (whole > 0) table.scale = ms[0] / whole;
  }
  return table;
}

}  // namespace shoal::shrink
