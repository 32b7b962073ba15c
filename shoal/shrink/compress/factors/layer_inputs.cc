#include "shoal/shrink/compress/factors/layer_inputs.h"

#include <algorithm>
#include <random>

#include "shoal/shrink/compress/analysis/value_probe.h"

namespace shoal::compress {
namespace {

constexpr int64_t kMostFeatures = 2048;  // a moment of 32 MB
constexpr size_t kMostJudged = 8;

// Gaussian: no direction is special, so that the error of an output is that of the weights.
Tensor random_input(const TensorType& type) {
  Tensor tensor(type);
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  for (float& x : tensor.data<float>()) x = normal(rng);
  return tensor;
}

}  // namespace

Result<std::vector<LayerInputs>> inputs_of(const Graph& graph, std::span<const LayerPlace> layers,
                                           const Context& context) {
  std::vector<LayerInputs> inputs(layers.size());
  std::vector<ValueId> values;
  for (size_t i = 0; i < layers.size(); ++i) {
    values.push_back(layers[i].node->inputs[0]);
    const TensorType& type = graph[values[i]].type;
    const int64_t features = type.shape[layers[i].axis];
    const size_t count = context.examples.count;
    if (count == 0) inputs[i].judged.push_back(random_input(type));
    if (count > 0 && features <= kMostFeatures) {
      inputs[i].moment.emplace(static_cast<size_t>(features));
    }
  }
  if (context.examples.count == 0 || layers.empty()) return inputs;

  SHOAL_ASSIGN(ValueProbe probe, ValueProbe::create(graph, std::move(values), context.device));
  const size_t count = context.examples.count;
  const size_t judged = std::clamp<size_t>(count / 4, 1, kMostJudged);
  for (size_t example = 0; example < count; ++example) {
    if (context.progress) context.progress(example);
    SHOAL_ASSIGN(const std::vector<Tensor> tensors, context.examples.at(example));
    SHOAL_TRY(probe.run(tensors));
    const bool is_judged = example >= count - judged;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (is_judged) inputs[i].judged.push_back(probe.seen(i).clone());
      const bool counts = !is_judged || count == 1;
      if (counts && inputs[i].moment) inputs[i].moment->add(probe.seen(i), layers[i].axis);
    }
  }
  return inputs;
}

}  // namespace shoal::compress
