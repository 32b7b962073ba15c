#include "shoal/train/step/trainer/step_work.h"

#include "shoal/train/step/trainer/update_graph.h"

namespace shoal::train {

Result<StepWork> step_work(const Graph& network, const StepOptions& options,
                           const OptimizerOptions& optimizer, const Device& device) {
  SHOAL_ASSIGN(const StepGraph step, make_step_graph(network, options));
  SHOAL_ASSIGN(const UpdateGraph whole, add_update(step.graph, step.parameters.size(), optimizer));
  StepWork work;
  for (const Node& node : whole.graph.nodes()) {
    work.macs += macs(whole.graph, node);
    if (!device.supports(whole.graph, node)) {
      work.elsewhere.push_back(place_of(whole.graph, node));
    }
  }
  return work;
}

}  // namespace shoal::train
