#include "shoal/shrink/compress/quantization/real_products.h"

#include <algorithm>
#include <functional>

namespace shoal::compress {
namespace {

// Bytes become floats before a product that stays real, and bytes again behind it: about the time
// of so many multiply-accumulates for each element. Real weights take four times the memory, which
// a product that uses each of them once waits for.
constexpr int64_t kPerElement = 16, kPerWeight = 4;

double work_of(const Graph& graph, const Node& product) {
  const int64_t elements =
      graph[product.inputs[0]].type.shape.count() + graph[product.outputs[0]].type.shape.count();
  return static_cast<double>(macs(graph, product) + kPerElement * elements +
                             kPerWeight * parameters(graph, product));
}

}  // namespace

Products stay_real(std::span<const ProductNoise> products, const FallbackRule& rule) {
  std::vector<ProductNoise> by_noise(products.begin(), products.end());
  std::ranges::stable_sort(by_noise, std::greater(), &ProductNoise::noise);
  double noise = 0, left = 0;
  for (const ProductNoise& product : products) {
    noise += product.noise;
    left += rule.most_work * product.work;
  }
  Products real;
  for (const ProductNoise& product : by_noise) {
    if (noise <= rule.most_noise) break;
    if (product.work > left || product.noise == 0) continue;
    real.insert(product.product);
    noise -= product.noise;
    left -= product.work;
  }
  return real;
}

Result<std::vector<ProductNoise>> noises_alone(const Graph& graph, const Ranges& ranges,
                                               RangeRule weights, const NoiseJudge& judge) {
  const std::vector<ValueId> products = products_to_quantize(graph);
  QuantizeOptions options{.weights = weights, .real = {products.begin(), products.end()}};
  std::vector<ProductNoise> noises;
  for (const Node& node : graph.nodes()) {
    const ValueId product = node.outputs[0];
    if (!options.real.contains(product)) continue;
    options.real.erase(product);
    SHOAL_ASSIGN(const Graph alone, quantize(graph, ranges, options));
    SHOAL_ASSIGN(const double noise, judge.noise(alone));
    noises.push_back({product, noise, work_of(graph, node)});
    options.real.insert(product);
  }
  return noises;
}

}  // namespace shoal::compress
