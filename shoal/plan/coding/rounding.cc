// The bound. A sum of K products in f32 has an error of about sqrt(K) u relative to its magnitude,
// with u = 2^-24: the K roundings are independent and as often up as down. (The worst case, K u, is
// never met: all roundings would have to go the same way.) Errors of a node's inputs pass through
// to its output with about their relative size, and add up along the longest path through the
// graph. Values that are rounded on purpose, to 16 or 8 bits, add half a step. Two computations are
// each off by so much, and elements that are not the largest may lose as much again by
// cancellation: four times the sum is allowed.
#include "shoal/plan/coding/rounding.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shoal::plan {
namespace {

constexpr double kSlack = 4;

// Half a step of the type, relative to the largest element.
double half_step(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    case DType::kI8:
    case DType::kU8:
      return 0.5 / 127;
    default:
      return 0x1p-24;
  }
}

double error_of(const Graph& graph, const Node& node) {
  const TensorType& output = graph[node.outputs[0]].type;
  const auto count = static_cast<double>(std::max<int64_t>(1, output.shape.count()));
  const double terms = static_cast<double>(macs(graph, node)) / count;
  return half_step(output.dtype) + std::sqrt(terms) * 0x1p-24;
}

}  // namespace

double rounding_bound(const Graph& graph) {
  std::vector<double> errors(graph.value_count());
  double largest = 0x1p-24;
  for (const Node& node : graph.nodes()) {
    double error = 0;
    for (ValueId id : node.inputs) {
      if (id != kNoValue) error = std::max(error, errors[static_cast<size_t>(id)]);
    }
    error += error_of(graph, node);
    for (ValueId id : node.outputs) errors[static_cast<size_t>(id)] = error;
    largest = std::max(largest, error);
  }
  return kSlack * largest;
}

}  // namespace shoal::plan
