// Factorisation: replaces layers by products of smaller ones. What a layer is replaced by depends
// on the method (svd.cc, tucker.cc); how its ranks are chosen does not, and is here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/factors/layer_inputs.h"
#include "shoal/shrink/compress/factors/layer_trial.h"
#include "shoal/shrink/compress/factors/rank_front.h"
#include "shoal/shrink/compress/methods/methods.h"

namespace shoal::compress {

// One of the products that stand for a layer. It reads the product before it, or the layer's input.
struct Factor {
  const Operator* op = nullptr;
  Tensor weights;
  Attributes attributes;
};

// A layer taken apart.
struct Factors {
  std::vector<Candidate> candidates;  // a front()
  size_t start = 0;                   // of them: where to begin to look
  // The products for these ranks, at least one; the layer's bias goes to the last.
  std::function<Result<std::vector<Factor>>(const Ranks& ranks)> at;
};

// How a method takes layers apart. Functions without state.
struct Factorisation {
  // Why this product is left as it is; OK if it can be taken apart.
  Status (*accepts)(const Node& node, const WeightedProduct& product);
  // Fails with a reason to leave the node as it is. REQUIRES: accepts() does; `graph` outlives the
  // result; the product has elements.
  Result<Factors> (*take_apart)(const Graph& graph, const Node& node,
                                std::optional<Whitening> whitening, size_t block);
};

extern const Factorisation kSvd;     // Gemm, MatMul and convolutions of one tap
extern const Factorisation kTucker;  // other convolutions

struct FactoriseOptions {
  // The most that a layer's output may change: ||Wx - Ŵx||² / ||Wx||² over inputs x that the choice
  // of Ŵ did not see. The ranks are the least that keep to it.
  double error = 0.01;
  // If given, `error` does not count: the ranks are the largest with which a layer is so many times
  // as fast.
  std::optional<double> speed_up = {};
  size_t block = 16;  // of channels, as the device computes them
  Stopwatch stopwatch = wall_clock();
};

// What was done to a Conv, Gemm or MatMul.
struct LayerReport {
  std::string place;  // of the node, as messages name it
  Status refused;     // why it is as it was; OK: it was replaced, and the rest is set
  Ranks ranks = {};
  double error = 0;  // as FactoriseOptions has it
  double microseconds_before = 0;
  double microseconds_after = 0;
};

struct Factorised {
  Graph graph;
  std::vector<LayerReport> layers;  // in the graph's order
};

// Replaces layers of a graph, in which constants and batch normalisation are folded first. A layer
// is replaced only if that was faster on the context's device, alone and in turns with the layer
// itself. Uses the context's examples; without any, weights count by their size. Fails as the
// examples, the device and the stopwatch do.
Result<Factorised> factorise(const Graph& graph, const Context& context,
                             const Factorisation& factorisation,
                             const FactoriseOptions& options = {});

// The same as a method gives it: fails with kUnsupported if nothing was replaced, and says why.
Result<Compressed> factorised(const Graph& graph, const Context& context,
                              const Factorisation& factorisation);

}  // namespace shoal::compress
