// Precision layer by layer under an accuracy budget [Huynh 2016]: layers become f16 one by one, the
// one that costs least first, as long as the accuracy of the whole network stays within the budget.
// Layers that lose too much accuracy stay f32.
//
//   S = {}
//   while some layer is not in S:
//     l = argmin over the others of loss(S + l),   loss(T) = accuracy(f32) - accuracy(T in f16)
//     if loss(S + l) > budget: stop
//     S = S + l
//
// Losses are against f32, not against S, so that they add up to no more than the budget. Most
// networks lose nothing: all layers at once are tried first, which saves n (n + 1) / 2 evaluations.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal {

// The accuracy of a network, 0 to 1, with these layers in f32 and the others in f16.
using MeasureAccuracy = std::function<Result<double>(const std::vector<std::string>& f32_layers)>;

// Which layers stay f32, and what that costs.
struct PrecisionChoice {
  std::vector<std::string> f32_layers;  // in the order of the network
  double f32_accuracy = 0, accuracy = 0;
  int evaluations = 0;
};

// The names that a device's options may list: outputs of layers with weights.
std::vector<std::string> precision_layers(const Graph& graph);

// REQUIRES: budget >= 0. Fails as `measure` does.
Result<PrecisionChoice> choose_precision(std::span<const std::string> layers, double budget,
                                         const MeasureAccuracy& measure);

}  // namespace shoal

#pragma GCC visibility pop
