#include "shoal/shrink/prune/latency/latency_table_for.h"

#include <algorithm>
#include <vector>

#include "shoal/model/passes/passes.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::shrink {
namespace {

// A plan takes up to a tenth of a second to carry over.
constexpr size_t kPlannedNetworks = 96;

void scale_to(double ms, const compress::Groups& groups, LatencyTable& table) {
  const double whole = table.ms(all_kept(groups));
  if (whole > 0) table.scale = ms / whole;
}

}  // namespace

Result<LatencyTable> table_for(const NetworkForBatch& network, const compress::Groups& groups,
                               const ShrinkOptions& options, Device& runs,
                               const TableOptions& how) {
  SHOAL_ASSIGN(const LoadedGraph one, network(1));
  if (!options.device.empty()) {
    SHOAL_ASSIGN(plan::ClusterProfile cluster, plan::find_cluster(options.device));
    if (cluster.workers.size() == 1) {
      return tabulate(one.graph, groups, timer_by(cluster.workers[0]), how);
    }
    TableOptions fewer = how;
    fewer.networks = std::min(how.networks, kPlannedNetworks);
    const StepTimer timer =
        timer_by_plan(std::move(cluster), options.wire ? *options.wire : plan::WireOptions());
    SHOAL_ASSIGN(LatencyTable table, tabulate(one.graph, groups, timer, fewer));
    table.exact_ms = [=, graph = one.graph](std::span<const size_t> units) -> Result<double> {
      SHOAL_ASSIGN(const Graph smaller, compress::remove(graph, groups, units));
      SHOAL_ASSIGN(const Graph optimized, passes::optimize(smaller));
      SHOAL_ASSIGN(const NetworkTime time, timer(optimized));
      return time.ms;
    };
    SHOAL_ASSIGN(const double whole, table.exact_ms({}));
    scale_to(whole, groups, table);
    return table;
  }
  SHOAL_ASSIGN(const Graph dense, passes::optimize(one.graph));
  SHOAL_ASSIGN(const StepTimer timer, timer_on(runs, dense));
  SHOAL_ASSIGN(LatencyTable table, tabulate(one.graph, groups, timer, how));
  if (options.measure_seconds > 0) {
    SHOAL_ASSIGN(const std::vector<double> ms,
                 measured_ms(runs, {network}, options.measure_seconds));
    scale_to(ms[0], groups, table);
  }
  return table;
}

}  // namespace shoal::shrink
