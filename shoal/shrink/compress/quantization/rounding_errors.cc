#include "shoal/shrink/compress/quantization/rounding_errors.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/analysis/node_by_node.h"
#include "shoal/shrink/compress/analysis/value_probe.h"

namespace shoal::compress {
namespace {

// Only these have a bias.
bool takes_bias(const Node& node) { return node.op == &ops::conv || node.op == &ops::gemm; }

// The mean of each output channel of a product: axis 1 of a convolution, the last one of a Gemm.
std::vector<double> channel_means(const Tensor& y) {
  const Shape& shape = y.shape();
  const auto channels = static_cast<size_t>(shape[1]);
  const auto inner = static_cast<size_t>(shape.count(2, shape.rank()));
  const auto elements = y.data<float>();
  std::vector<double> means(channels);
  for (size_t i = 0; i < elements.size(); ++i) means[i / inner % channels] += elements[i];
  const double count = static_cast<double>(elements.size()) / static_cast<double>(channels);
  for (double& mean : means) mean /= std::max(count, 1.0);
  return means;
}

void add_per_channel(const std::vector<float>& shift, Tensor& y) {
  const auto inner = static_cast<size_t>(y.shape().count(2, y.shape().rank()));
  const auto elements = y.data<float>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] += shift[i / inner % shift.size()];
}

struct Means {
  ValueId product = kNoValue;
  std::vector<std::vector<double>> channels = {};  // of each example
};

// The products that `quantized` rounds, by the name of their output, which is the same in both, as
// the graph computes them.
Result<std::map<std::string, Means>> wanted_means(const Graph& graph, const Graph& quantized,
                                                  const std::vector<std::vector<Tensor>>& examples,
                                                  Device& device) {
  std::map<std::string, Means> means;
  std::vector<bool> dequantized(quantized.value_count());
  for (const Node& node : quantized.nodes()) {
    if (node.op == &ops::dequantize_linear) {
      dequantized[static_cast<size_t>(node.outputs[0])] = true;
    }
    const bool is_rounded = takes_bias(node) && dequantized[static_cast<size_t>(node.inputs[1])];
    if (is_rounded) means[quantized[node.outputs[0]].name];
  }
  std::vector<ValueId> values;
  for (const Node& node : graph.nodes()) {
    const auto position = means.find(graph[node.outputs[0]].name);
    if (position == means.end()) continue;
    position->second.product = node.outputs[0];
    values.push_back(node.outputs[0]);
  }
  SHOAL_ASSIGN(ValueProbe probe, ValueProbe::create(graph, values, device));
  for (const std::vector<Tensor>& inputs : examples) {
    SHOAL_TRY(probe.run(inputs));
    for (size_t i = 0; i < values.size(); ++i) {
      means[graph[values[i]].name].channels.push_back(channel_means(probe.seen(i)));
    }
  }
  return means;
}

std::vector<float> shift_between(const std::vector<std::vector<double>>& wanted,
                                 std::span<const Tensor> outputs) {
  std::vector<std::vector<double>> is;
  for (const Tensor& y : outputs) is.push_back(channel_means(y));
  std::vector<float> shift(wanted[0].size());
  std::vector<double> differences(is.size());
  for (size_t c = 0; c < shift.size(); ++c) {
    for (size_t i = 0; i < is.size(); ++i) differences[i] = wanted[i][c] - is[i][c];
    shift[c] = static_cast<float>(trusted_mean(differences));
  }
  return shift;
}

// The cost of converting bytes to floats and back around a real product, in multiply-accumulates
// per element; and of its weights' fourfold memory, which a product that uses each weight once
// waits for.
constexpr int64_t kPerElement = 16, kPerWeight = 4;

double work_of(const Graph& graph, const Node& product) {
  const int64_t elements =
      graph[product.inputs[0]].type.shape.count() + graph[product.outputs[0]].type.shape.count();
  return static_cast<double>(macs(graph, product) + kPerElement * elements +
                             kPerWeight * parameters(graph, product));
}

}  // namespace

double trusted_mean(std::span<const double> differences) {
  const auto count = static_cast<double>(differences.size());
  double sum = 0, squares = 0;
  for (double d : differences) sum += d;
  const double mean = sum / count;
  if (differences.size() == 1) return mean;
  for (double d : differences) squares += (d - mean) * (d - mean);
  const double error = squares / (count * (count - 1));  // s^2
  const double share = 1 - error / (mean * mean);
  return share > 0 ? mean * share : 0;  // 0 where the mean is, or NaN
}

Result<Shifts> mean_shifts(const Graph& graph, const Graph& quantized,
                           const std::vector<std::vector<Tensor>>& examples, Device& device) {
  Shifts shifts;
  if (examples.empty()) return shifts;
  SHOAL_ASSIGN(const auto wanted, wanted_means(graph, quantized, examples, device));
  // Weights are rounded once, not per example.
  SHOAL_ASSIGN(const Graph folded, passes::fold_constants(quantized));
  SHOAL_TRY(
      run_node_by_node(folded, device, examples, [&](const Node& node, std::span<Tensor> outputs) {
        const auto position = wanted.find(folded[node.outputs[0]].name);
        if (position == wanted.end()) return;
        const std::vector<float> shift = shift_between(position->second.channels, outputs);
        for (Tensor& y : outputs) add_per_channel(shift, y);
        shifts[position->second.product] = shift;
      }));
  return shifts;
}

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
                                               RangeRule weights, const NoiseMeter& meter) {
  const std::vector<ValueId> products = products_to_quantize(graph);
  QuantizeOptions options{.weights = weights, .real = {products.begin(), products.end()}};
  std::vector<ProductNoise> noises;
  for (const Node& node : graph.nodes()) {
    const ValueId product = node.outputs[0];
    if (!options.real.contains(product)) continue;
    options.real.erase(product);
    SHOAL_ASSIGN(const Graph alone, quantize(graph, ranges, options));
    SHOAL_ASSIGN(const double noise, meter.noise(alone));
    noises.push_back({product, noise, work_of(graph, node)});
    options.real.insert(product);
  }
  return noises;
}

}  // namespace shoal::compress
