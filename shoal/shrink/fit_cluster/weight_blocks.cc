#include "shoal/shrink/fit_cluster/weight_blocks.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "shoal/train/step/optimizer/regularizer.h"
#include "shoal/train/step/weights/product_layer.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::fit_cluster {
namespace {

constexpr int64_t kSmallest = 1 << 12;  // as plan::can_be_clustered() has it
// Hoyer's measure suits weights of any scale, but is flat where groups are alike, as they are when
// they grow again after removal: of an MLP, outliers of 2 % of the largest could go, where under
// this lasso all could. The strength was chosen on that MLP.
constexpr const char* kPenalty = "lasso:clusters";
constexpr const char* kStrength = ":1e-1:";

}  // namespace

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
