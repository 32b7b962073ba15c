#include <memory>
#include <string>

#include "shoal/model/passes/passes.h"
#include "shoal/shrink/fit_cluster/other_networks.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::fit_cluster {

Result<OtherNetwork> planned_file(const std::filesystem::path& file,
                                  const plan::ClusterProfile& cluster) {
  SHOAL_ASSIGN(const Model model, open_model(file.string()));
  SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model, 1));
  OtherNetwork made;
  SHOAL_ASSIGN(made.graph, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(made.plans, plan::make_plans(made.graph, cluster));
  for (const Node& node : made.graph.nodes()) made.macs += macs(made.graph, node);
  return made;
}

Result<OtherNetwork> smaller_network(const Task& task) {
  shrink::ShrinkOptions how;
  how.time = shrink::TimeTarget{.ms = task.ms};
  how.device = task.options.cluster;
  how.wire = std::make_shared<plan::WireOptions>(task.wire);
  how.recipe = task.options.recipe;
  how.teacher = how.recipe.loss.distill > 0 ? shrink::Teacher::kDense : shrink::Teacher::kNone;
  how.measure_seconds = 0;
  how.out = task.out;
  const auto made = shrink::shrink(task.devices, task.model, task.data, how, task.callbacks);
  if (!made.ok() && made.status().code() == Code::kUnsupported) {
    return OtherNetwork{.why_not = std::string(made.status().message())};
  }
  SHOAL_TRY(made.status());
  SHOAL_ASSIGN(OtherNetwork planned, planned_file(task.out, task.cluster));
  planned.top1 = made->small.top1;
  planned.top1_control = made->dense.top1;
  return planned;
}

}  // namespace shoal::fit_cluster
