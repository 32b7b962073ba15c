#include "shoal/engine/gpu/plan/precision.h"

#include "shoal/engine/gpu/work.h"

namespace shoal {
namespace {

using IsHalf = std::vector<char>;  // by layer

std::vector<std::string> f32_of(std::span<const std::string> layers, const IsHalf& is_half) {
  std::vector<std::string> names;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (is_half[i] == 0) names.push_back(layers[i]);
  }
  return names;
}

}  // namespace

std::vector<std::string> precision_layers(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (gpu::is_layer(node.op)) names.push_back(graph[node.outputs[0]].name);
  }
  return names;
}

Result<PrecisionChoice> choose_precision(std::span<const std::string> layers, double budget,
                                         const MeasureAccuracy& measure) {
  PrecisionChoice choice;
  const auto accuracy_of = [&](const IsHalf& is_half) {
    ++choice.evaluations;
    return measure(f32_of(layers, is_half));
  };
  IsHalf is_half(layers.size(), 0);
  SHOAL_ASSIGN(choice.f32_accuracy, accuracy_of(is_half));
  choice.accuracy = choice.f32_accuracy;
  SHOAL_ASSIGN(const double all, accuracy_of(IsHalf(layers.size(), 1)));
  if (choice.f32_accuracy - all <= budget) {
    choice.accuracy = all;
    return choice;
  }
  for (size_t round = 0; round < layers.size(); ++round) {
    size_t best = layers.size();
    double most = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (is_half[i] != 0) continue;
      is_half[i] = 1;
      SHOAL_ASSIGN(const double accuracy, accuracy_of(is_half));
      is_half[i] = 0;
      if (best == layers.size() || accuracy > most) {
        best = i;
        most = accuracy;
      }
    }
    if (choice.f32_accuracy - most > budget) break;
    is_half[best] = 1;
    choice.accuracy = most;
  }
  choice.f32_layers = f32_of(layers, is_half);
  return choice;
}

}  // namespace shoal
