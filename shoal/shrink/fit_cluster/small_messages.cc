#include "shoal/shrink/fit_cluster/small_messages.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "shoal/plan/search/plan_recipe.h"
#include "shoal/plan/search/wire_format.h"
#include "shoal/shrink/compress/analysis/value_probe.h"
#include "shoal/shrink/retraining/norms.h"

namespace shoal::fit_cluster {
namespace {

// The error that rounded messages may have, by the bound that the planner adds up. It is far from
// what they do to an answer, which is measured.
constexpr double kAllowedError = 1;
constexpr size_t kRangeExamples = 32;  // that the ranges of 8-bit messages come from

void widen(const Tensor& seen, float& largest) {
  for (const float x : seen.data<float>()) largest = std::max(largest, std::abs(x));
}

}  // namespace

Result<plan::WireOptions> messages_in(plan::WireFormat format, const Graph& graph, Device& device,
                                      const Dataset& examples, const fit::TrainingOptions& recipe) {
  plan::WireOptions wire{.smallest = format, .error = kAllowedError, .inputs = true};
  if (format != plan::WireFormat::kI8) return wire;
  std::vector<ValueId> values;
  for (const Node& node : graph.nodes()) {
    if (graph[node.outputs[0]].type.dtype == DType::kF32) values.push_back(node.outputs[0]);
  }
  SHOAL_ASSIGN(auto probe, compress::ValueProbe::create(graph, std::move(values), device));
  const auto data = fit::spread_examples(graph, examples, recipe, kRangeExamples);
  for (size_t example = 0; example < data.count; ++example) {
    SHOAL_ASSIGN(const std::vector<Tensor> inputs, data.at(example));
    SHOAL_TRY(probe.run(inputs));
    for (size_t i = 0; i < probe.values().size(); ++i) {
      widen(probe.seen(i), wire.largest[graph[probe.values()[i]].name]);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      widen(inputs[i], wire.largest[graph[graph.inputs()[i]].name]);
    }
  }
  return wire;
}

Result<std::optional<plan::Prediction>> faster_by_messages(
    const Graph& graph, const plan::ClusterProfile& cluster, const plan::WireOptions& wire,
    const std::vector<plan::Prediction>& plans) {
  const auto seconds = [](const plan::Prediction& made) { return made.timeline.seconds; };
  SHOAL_ASSIGN(std::vector<plan::Prediction> narrow,
               plan::make_narrow_plans(graph, cluster, {.wire = wire}, plans));
  const auto best = std::ranges::min_element(narrow, {}, seconds);
  if (best == narrow.end() || seconds(*best) >= seconds(plans[0])) {
    return std::optional<plan::Prediction>();
  }
  return std::optional(std::move(*best));
}

fit::NetworkForBatch as_planned(const plan::Prediction& made) {
  return [graph = made.graph()](int64_t) -> Result<LoadedGraph> {
    LoadedGraph loaded;
    SHOAL_ASSIGN(loaded.graph, plan::rounding_inputs(graph));
    for (const ValueId output : loaded.graph.outputs()) {
      loaded.outputs.push_back(loaded.graph[output].name);
    }
    return loaded;
  };
}

}  // namespace shoal::fit_cluster
