#include "shoal/shrink/compress/quantization/calibration.h"

#include <algorithm>
#include <cmath>

#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/model/tensor/random_tensor.h"
#include "shoal/shrink/compress/quantization/quantize.h"

namespace shoal::compress {
namespace {

// The function that is all that reads the value, as Swish is behind a convolution; else none.
ElementFunction reader_of(const Graph& graph, const passes::UseDefs& links, ValueId id) {
  const Node* reader = links.only_reader(id);
  if (reader == nullptr || reader->inputs[0] != id) return {};
  const auto activation = ops::as_activation(*reader, graph.operands(reader->inputs));
  if (!activation || activation->op->elementwise.f64 == nullptr) return {};
  return [f = *activation](double x) { return f(x); };
}

}  // namespace

// Each example has a seed of its own, so that any subset of them is the same in every call.
CalibrationData random_examples(const Graph& graph, size_t count) {
  return {count, [&graph](size_t index) -> Result<std::vector<Tensor>> {
            std::mt19937 rng(static_cast<uint32_t>(index + 1));
            std::vector<Tensor> inputs;
            for (ValueId id : graph.inputs()) inputs.push_back(random_tensor(graph[id].type, rng));
            return inputs;
          }};
}

Result<Calibration> Calibration::start(const Graph& graph, Device& device) {
  SHOAL_ASSIGN(ValueProbe probe, ValueProbe::create(graph, values_to_quantize(graph), device));
  const passes::UseDefs links(graph);
  std::vector<ElementFunction> readers;
  for (ValueId id : probe.values()) readers.push_back(reader_of(graph, links, id));
  return Calibration(std::move(probe), std::move(readers));
}

// Histograms and not elements are kept: memory does not grow with the number of examples.
Status Calibration::observe(std::span<const Tensor> inputs) {
  SHOAL_TRY(probe_.run(inputs));
  for (size_t i = 0; i < histograms_.size(); ++i) {
    histograms_[i].add(probe_.seen(i).data<float>());
  }
  return {};
}

Status Calibration::observe(const CalibrationData& data,
                            const std::function<void(size_t)>& progress) {
  for (size_t i = 0; i < data.count; ++i) {
    if (progress) progress(i);
    SHOAL_ASSIGN(const std::vector<Tensor> inputs, data.at(i));
    SHOAL_TRY(observe(inputs));
  }
  return {};
}

Ranges Calibration::ranges(RangeRule rule) const {
  Ranges ranges;
  for (size_t i = 0; i < histograms_.size(); ++i) {
    ranges[probe_.values()[i]] = histograms_[i].range(rule, readers_[i]);
  }
  return ranges;
}

Result<std::map<std::string, float, std::less<>>> largest_magnitudes(
    const Graph& graph, Device& device, std::span<const Tensor> inputs) {
  std::vector<ValueId> values;
  // The first output stands for the node.
  for (const Node& node : graph.nodes()) {
    if (graph[node.outputs[0]].type.dtype == DType::kF32) values.push_back(node.outputs[0]);
  }
  SHOAL_ASSIGN(ValueProbe probe, ValueProbe::create(graph, std::move(values), device));
  SHOAL_TRY(probe.run(inputs));
  std::map<std::string, float, std::less<>> largest;
  for (size_t i = 0; i < probe.values().size(); ++i) {
    float& most = largest[graph[probe.values()[i]].name];
    for (float x : probe.seen(i).data<float>()) most = std::max(most, std::abs(x));
  }
  return largest;
}

Result<std::map<std::string, float, std::less<>>> random_magnitudes(const Graph& graph,
                                                                    Device& device) {
  SHOAL_ASSIGN(const std::vector<Tensor> inputs, random_examples(graph, 1).at(0));
  return largest_magnitudes(graph, device, inputs);
}

}  // namespace shoal::compress
