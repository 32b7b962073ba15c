#include "shoal/shrink/compress/refit/restore_norms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/analysis/value_probe.h"

namespace shoal::compress {
namespace {

constexpr float kEpsilon = 1e-5F;  // the operator's default

std::vector<ValueId> without_norms(const Graph& graph) {
  const passes::UseDefs uses(graph);
  std::vector<ValueId> values;
  for (const Node& node : graph.nodes()) {
    if (node.op != &ops::conv || passes::constant(graph, node.inputs[1]) == nullptr) continue;
    if (graph[node.outputs[0]].type.dtype != DType::kF32) continue;
    const Node* reader = uses.only_reader(node.outputs[0]);
    if (reader == nullptr || reader->op != &ops::batch_normalization) {
      values.push_back(node.outputs[0]);
    }
  }
  return values;
}

// Of one channel.
struct Sums {
  double count = 0, sum = 0, squares = 0;
};

void add(const Tensor& y, std::vector<Sums>& channels) {
  const auto inner = static_cast<size_t>(y.shape().count(2, y.shape().rank()));
  const auto elements = y.data<float>();
  for (size_t first = 0; first < elements.size(); first += inner) {
    Sums& channel = channels[first / inner % channels.size()];
    channel.count += static_cast<double>(inner);
    for (const float element : elements.subspan(first, inner)) {
      const auto x = static_cast<double>(element);
      channel.sum += x;
      channel.squares += x * x;
    }
  }
}

ChannelMoments moments_of(const std::vector<Sums>& channels) {
  ChannelMoments moments;
  for (const Sums& channel : channels) {
    const double mean = channel.sum / channel.count;
    moments.mean.push_back(mean);
    moments.variance.push_back(std::max(0.0, channel.squares / channel.count - mean * mean));
  }
  return moments;
}

Status add_norm(passes::Rewriter& rewriter, const Node& conv, const ChannelMoments& moments) {
  SHOAL_TRY(rewriter.copy(conv));
  const ValueId y = rewriter.map(conv.outputs[0]);
  const int64_t channels = rewriter.to()[y].type.shape[1];
  if (static_cast<int64_t>(moments.mean.size()) != channels) {
    return invalid("the moments of " + rewriter.to()[y].name + " have another number of channels");
  }
  const auto constant = [&](const char* role, auto value) {
    Tensor tensor({DType::kF32, {channels}});
    for (size_t c = 0; c < moments.mean.size(); ++c) {
      tensor.data<float>()[c] = static_cast<float>(value(moments.mean[c], moments.variance[c]));
    }
    return rewriter.add_constant(conv, role, std::move(tensor));
  };
  const auto mean_of = [](double mean, double) { return mean; };
  const ValueId scale = constant("norm.scale", [](double, double variance) {
    return std::sqrt(variance + static_cast<double>(kEpsilon));
  });
  const ValueId bias = constant("norm.bias", mean_of);
  const ValueId mean = constant("norm.mean", mean_of);
  const ValueId variance = constant("norm.variance", [](double, double v) { return v; });
  SHOAL_ASSIGN(const ValueId normed,
               rewriter.to().add(ops::batch_normalization, {y, scale, bias, mean, variance},
                                 {{"epsilon", kEpsilon}}));
  rewriter.replace(conv.outputs[0], normed);
  return {};
}

}  // namespace

Result<ConvMoments> conv_moments(const Graph& graph, const CalibrationData& examples,
                                 Device& device) {
  if (examples.count == 0) return invalid("there are no examples to see what channels are like");
  SHOAL_ASSIGN(ValueProbe probe, ValueProbe::create(graph, without_norms(graph), device));
  const std::vector<ValueId>& values = probe.values();
  std::vector<std::vector<Sums>> sums;
  for (const ValueId id : values) {
    sums.emplace_back(static_cast<size_t>(graph[id].type.shape[1]));
  }
  for (size_t example = 0; example < examples.count; ++example) {
    SHOAL_ASSIGN(const std::vector<Tensor> inputs, examples.at(example));
    SHOAL_TRY(probe.run(inputs));
    for (size_t i = 0; i < values.size(); ++i) add(probe.seen(i), sums[i]);
  }
  ConvMoments moments;
  for (size_t i = 0; i < values.size(); ++i) moments[graph[values[i]].name] = moments_of(sums[i]);
  return moments;
}

Result<Graph> with_norms(const Graph& graph, const ConvMoments& moments) {
  passes::Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    const auto found =
        node.op == &ops::conv ? moments.find(graph[node.outputs[0]].name) : moments.end();
    SHOAL_TRY(found == moments.end() ? rewriter.copy(node)
                                     : add_norm(rewriter, node, found->second));
  }
  return rewriter.finish();
}

}  // namespace shoal::compress
