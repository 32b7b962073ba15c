#include "shoal/shrink/compress/factors/layers_apart.h"

#include <optional>
#include <utility>

#include "shoal/shrink/compress/quantization/quantize.h"

namespace shoal::compress {

Result<LayersApart> LayersApart::of(const Graph& graph, const Context& context,
                                    const Factorisation& factorisation, size_t block) {
  LayersApart apart;
  SHOAL_ASSIGN(Graph prepared, prepare(graph));
  apart.graph_ = std::make_unique<const Graph>(std::move(prepared));
  const passes::UseDefs uses(*apart.graph_);
  std::vector<LayerPlace> places;
  for (const Node& node : apart.graph_->nodes()) {
    if (!is_product(node)) continue;
    const Status accepted = accepts(factorisation, *apart.graph_, uses, node);
    if (accepted.ok()) {
      places.push_back({&node, feature_axis(*apart.graph_, node)});
    } else {
      apart.left_.push_back({place_of(*apart.graph_, node), accepted});
    }
  }
  SHOAL_ASSIGN(std::vector<LayerInputs> inputs, inputs_of(*apart.graph_, places, context));
  for (size_t i = 0; i < places.size(); ++i) {
    SHOAL_TRY(apart.take_apart(*places[i].node, std::move(inputs[i]), factorisation, block));
  }
  return apart;
}

Status LayersApart::take_apart(const Node& node, LayerInputs inputs,
                               const Factorisation& factorisation, size_t block) {
  std::optional<Whitening> whitening;
  if (inputs.moment) {
    SHOAL_ASSIGN(whitening, inputs.moment->whitening());
  }
  auto factors = factorisation.take_apart(*graph_, node, std::move(whitening), block);
  if (factors.ok() && factors->candidates.empty()) {
    factors = Status(Code::kUnsupported, "no ranks save any work");
  }
  if (!factors.ok()) {
    left_.push_back({place_of(*graph_, node), factors.status()});
    return {};
  }
  const WeightedProduct product = *product_of(*graph_, node);
  const auto weights = static_cast<double>(product.weights->count());
  const auto outputs = static_cast<size_t>(product.weights->shape()[product.channel_axis]);
  const auto features = static_cast<size_t>(product.weights->shape()[1 - product.channel_axis]);
  layers_.push_back(
      {.output = (*graph_)[node.outputs[0]].name,
       .weights = (*graph_)[node.inputs[1]].name,
       .output_axis = product.channel_axis,
       .whole = {{outputs, features}, static_cast<double>(macs(*graph_, node)), 0, weights},
       .factors = *std::move(factors),
       .inputs = std::move(inputs.judged),
       .node = &node});
  return {};
}

Result<std::vector<Contest>> LayersApart::race(size_t layer, std::span<const Ranks> ranks,
                                               Device& device, const Stopwatch& stopwatch) const {
  const LayerApart& layer_apart = layers_[layer];
  SHOAL_ASSIGN(const Graph alone, layer_graph(*graph_, *layer_apart.node,
                                              std::vector{factor_of(*graph_, *layer_apart.node)}));
  SHOAL_ASSIGN(LayerTrial trial,
               LayerTrial::start(device, alone, {layer_apart.inputs[0]}, stopwatch));
  std::vector<Contest> contests;
  for (const Ranks& candidate : ranks) {
    SHOAL_ASSIGN(const std::vector<Factor> factors, layer_apart.factors.at(candidate));
    SHOAL_ASSIGN(const Graph chain, layer_graph(*graph_, *layer_apart.node, factors));
    SHOAL_ASSIGN(const size_t contender, trial.enter(chain));
    SHOAL_ASSIGN(Contest contest, trial.race(std::vector{contender}));
    contests.push_back(std::move(contest));
  }
  return contests;
}

Result<FactorsByLayer> LayersApart::at(std::span<const Ranks> ranks) const {
  SHOAL_CHECK(ranks.size() == layers_.size());
  FactorsByLayer all;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (ranks[i] == Ranks()) continue;
    SHOAL_ASSIGN(all[layers_[i].output], layers_[i].factors.at(ranks[i]));
  }
  return all;
}

Result<Graph> with_factors(const Graph& graph, const FactorsByLayer& factors) {
  SHOAL_ASSIGN(const Graph prepared, prepare(graph));
  passes::Rewriter rewriter(prepared);
  size_t replaced = 0;
  for (const Node& node : prepared.nodes()) {
    const auto position =
        is_product(node) ? factors.find(prepared[node.outputs[0]].name) : factors.end();
    replaced += position == factors.end() ? 0 : 1;
    SHOAL_TRY(position == factors.end() ? rewriter.copy(node)
                                        : replace(rewriter, node, position->second));
  }
  if (replaced < factors.size()) return invalid("the graph has not all layers that have factors");
  SHOAL_ASSIGN(Graph result, rewriter.finish());
  SHOAL_TRY(verify(result));
  return result;
}

}  // namespace shoal::compress
