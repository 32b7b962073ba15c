#include "shoal/shrink/fit_cluster/other_networks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "shoal/model/passes/passes.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/optimizer/regularizer.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::fit_cluster {
namespace {

constexpr int64_t kSmallest = 1 << 12;  // as plan::can_be_clustered() has it
// Hoyer's measure is flat if groups are alike, as when they grow again after removal: of an MLP,
// outliers of 2 % of the largest could go, with this lasso all could. The strength was chosen on
// that MLP.
constexpr const char* kPenalty = "lasso:clusters";
constexpr const char* kStrength = ":1e-1:";

}  // namespace

Result<OtherNetwork> planned_file(const std::filesystem::path& file,
                                  const plan::ClusterProfile& cluster) {
  SHOAL_ASSIGN(const Model model, open_model(file.string()));
  SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model, 1));
  OtherNetwork planned;
  SHOAL_ASSIGN(planned.graph, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(planned.plans, plan::make_plans(planned.graph, cluster));
  planned.macs = total_macs(planned.graph);
  return planned;
}

Result<OtherNetwork> smaller_network(const Task& task) {
  shrink::ShrinkOptions options;
  options.time = shrink::TimeTarget{.ms = task.ms};
  options.device = task.options.cluster;
  options.wire = std::make_shared<plan::WireOptions>(task.wire);
  options.recipe = task.options.recipe;
  options.teacher =
      options.recipe.loss.distill > 0 ? shrink::Teacher::kDense : shrink::Teacher::kNone;
  options.measure_seconds = 0;
  options.out = task.out;
  const auto result = shrink::shrink(task.devices, task.model, task.data, options, task.callbacks);
  if (!result.ok() && result.status().code() == Code::kUnsupported) {
    return OtherNetwork{.why_not = std::string(result.status().message())};
  }
  SHOAL_TRY(result.status());
  SHOAL_ASSIGN(OtherNetwork planned, planned_file(task.out, task.cluster));
  planned.top1 = result->small.top1;
  planned.top1_control = result->dense.top1;
  return planned;
}

std::vector<std::string> weights_for_blocks(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    const auto layer = train::as_product(graph, node);
    if (!layer) continue;
    const Value& weight = graph[node.inputs[layer->weight]];
    const bool is_matrix = weight.type.shape.rank() == 2 && weight.type.dtype == DType::kF32;
    if (!is_matrix || weight.type.shape.count() < kSmallest) continue;
    if (std::ranges::find(names, weight.name) == names.end()) names.push_back(weight.name);
  }
  return names;
}

std::string penalty_for_blocks(const std::string& weight, size_t blocks) {
  std::string pattern;
  for (const char c : weight) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return kPenalty + std::to_string(blocks) + kStrength + pattern;
}

Result<Graph> in_blocks(const Graph& graph, const std::vector<std::string>& weights, size_t blocks,
                        double share) {
  const train::Regularizer regularizer{.groups = train::Regularizer::Groups::kClusters,
                                       .clusters = static_cast<int64_t>(blocks)};
  std::map<std::string, Tensor> left;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (!value.constant || std::ranges::find(weights, value.name) == weights.end()) continue;
    left[value.name] = train::without_small_groups(regularizer, *value.constant, share);
  }
  return train::with_constants(graph, left);
}

}  // namespace shoal::fit_cluster
