#include "shoal/cluster/chaos/processes/chaos_workers.h"

#include <memory>
#include <string>
#include <thread>

#include "shoal/cluster/chaos/processes/equal_plans.h"
#include "shoal/cluster/emulate/machines/dilation.h"
#include "shoal/plan/search/choices.h"

namespace shoal::chaos {

ChaosClusterOptions with_processes(ChaosClusterOptions options, size_t workers, const Graph& graph,
                                   const plan::PlanOptions& plan) {
  for (size_t i = 0; i < workers; ++i) options.workers.push_back("worker-" + std::to_string(i));
  options.dilation = 1;
  const auto plans =
      std::make_shared<cluster::EqualPlans>(graph, cluster::equal_workers(workers), plan);
  options.plan = [plans](const cluster::Workers& set) { return plans->plan_for(set); };
  return options;
}

ChaosClusterOptions with_devices(ChaosClusterOptions options, const plan::ClusterProfile& cluster,
                                 const Graph& graph, const plan::PlanOptions& plan,
                                 std::atomic<double>& predicted_ms) {
  for (const plan::WorkerProfile& worker : cluster.workers) options.workers.push_back(worker.name);
  options.emulated = cluster;
  if (options.dilation <= 0) {
    options.dilation = emulate::choose_dilation(cluster, std::thread::hardware_concurrency());
  }
  options.plan = [=, &predicted_ms](const cluster::Workers& set) {
    auto made = plan::make_plan_for(set, graph, cluster, plan);
    if (made.ok() && set.size() == cluster.workers.size()) {
      predicted_ms = 1e3 * made->timeline.seconds;
    }
    return made;
  };
  return options;
}

Result<ChaosClusterOptions> with_workers(ChaosClusterOptions options, const ChaosWorkers& workers,
                                         const Graph& graph, std::atomic<double>& predicted_ms) {
  const plan::PlanOptions plan{.survive = workers.survive};
  options = workers.devices.workers.empty()
                ? with_processes(std::move(options), workers.processes, graph, plan)
                : with_devices(std::move(options), workers.devices, graph, plan, predicted_ms);
  if (options.verify > 0 && workers.survive == 0) {
    return invalid("--verify compares what --survive makes redundant");
  }
  if (workers.survive >= static_cast<int>(options.workers.size())) {
    return invalid("to survive the loss of " + std::to_string(workers.survive) + " takes " +
                   std::to_string(workers.survive + 1) + " workers");
  }
  if (workers.on_plan) {
    options.plan = [told = workers.on_plan, make = options.plan](const cluster::Workers& set) {
      told();
      return make(set);
    };
  }
  return options;
}

}  // namespace shoal::chaos
