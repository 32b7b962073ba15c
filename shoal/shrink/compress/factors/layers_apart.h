// LayersApart: a network's layers that a method can factorise (factorise.h), before ranks are
// chosen. factorise() chooses ranks layer by layer; rank_front.h chooses them for a target of the
// whole network.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/shrink/compress/factors/factorise.h"

namespace shoal::compress {

// Factors of layers, by the name of their output.
using FactorsByLayer = std::map<std::string, std::vector<Factor>>;

struct LayerApart {
  std::string output, weights;  // by name
  size_t output_axis = 0;       // of the weights: that of the outputs
  Candidate whole;              // as it is
  Factors factors;
  std::vector<Tensor> inputs;  // some that it reads
  const Node* node = nullptr;
};

// Move-only. Safe for concurrent use by multiple threads.
class LayersApart {
 public:
  // Constants and batch normalisation are folded first. Uses the examples of the context; without
  // any, weights count by their size. Fails as the examples and the device do.
  static Result<LayersApart> of(const Graph& graph, const Context& context,
                                const Factorisation& factorisation, size_t block = 16);

  // The graph with all folded.
  const Graph& graph() const { return *graph_; }
  const std::vector<LayerApart>& layers() const { return layers_; }  // in the graph's order
  // The products that stay as they are, with the reason.
  const std::vector<LayerReport>& left() const { return left_; }

  // Races the layer against its factors at each of these ranks, one contest each, as contender 1.
  // Fails as the device and the stopwatch do. REQUIRES: the ranks are those of candidates of the
  // layer, here and below.
  Result<std::vector<Contest>> race(size_t layer, std::span<const Ranks> ranks, Device& device,
                                    const Stopwatch& stopwatch) const;

  // Factors at these ranks, one per layer; a layer with the ranks 0, 0 stays. Fails as the algebra
  // does. REQUIRES: there are as many ranks as layers.
  Result<FactorsByLayer> at(std::span<const Ranks> ranks) const;

 private:
  Status take_apart(const Node& node, LayerInputs inputs, const Factorisation& factorisation,
                    size_t block);

  std::unique_ptr<const Graph> graph_;  // nodes of it are pointed at
  std::vector<LayerApart> layers_;
  std::vector<LayerReport> left_;
};

// The graph, folded as by LayersApart, with these factors in place of layers. The batch may differ.
// kInvalidArgument if it has no such layer.
Result<Graph> with_factors(const Graph& graph, const FactorsByLayer& factors);

}  // namespace shoal::compress
