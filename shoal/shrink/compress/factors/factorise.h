// Factorisation: replaces layers by products of smaller ones. The factors depend on the method
// (svd.cc, tucker.cc); the choice of ranks does not, and is here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/timing/contest.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/factors/low_rank.h"
#include "shoal/shrink/compress/factors/rank_front.h"
#include "shoal/shrink/compress/methods/methods.h"

namespace shoal::compress {

// LayerTrial: a layer and possible replacements, run on the same inputs on one device and timed in
// turns.

// Runs once and says how many microseconds that took. Fails as the run does.
using Stopwatch =
    std::function<Result<double>(Executable& executable, std::span<const Tensor> inputs)>;

// Wall time.
Stopwatch wall_clock();

// Whether contender `number` is to replace the layer, contender 0: it must be faster, and clearly
// so if times are noisy.
bool is_faster(const Contest& contest, size_t number);

// Contender 0 is the layer. Not thread-safe.
class LayerTrial {
 public:
  // `layer` has one input and one output, both f32; it is run on each of `inputs`. Fails as the
  // device does. REQUIRES: `device` outlives the trial; there are inputs, of the layer's type.
  static Result<LayerTrial> start(Device& device, const Graph& layer, std::vector<Tensor> inputs,
                                  Stopwatch stopwatch);

  // The number of a further contender. Fails as the device does. REQUIRES: the graph has the
  // layer's input and output types.
  Result<size_t> enter(const Graph& graph);

  // ||y - ŷ||² / ||y||² over all inputs for the layer's output y and the contender's ŷ; zero if
  // both are zero. Fails as the device does.
  Result<double> error(size_t contender);

  // The layer against these, as contenders 1, 2, ... of the contest. Fails as the stopwatch does.
  Result<Contest> race(std::span<const size_t> contenders);

 private:
  LayerTrial(Device& device, std::vector<Tensor> inputs, Stopwatch stopwatch)
      : device_(&device), inputs_(std::move(inputs)), stopwatch_(std::move(stopwatch)) {}
  Result<Tensor> output(size_t contender, const Tensor& input);

  Device* device_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> wanted_;  // the layer's outputs
  Stopwatch stopwatch_;
  std::vector<std::unique_ptr<Executable>> contenders_;
};

// A layer: a node, and the axis of its input 0 along which its features lie.
struct LayerPlace {
  const Node* node = nullptr;
  size_t axis = 0;
};

struct LayerInputs {
  // nullopt without examples, or with too many features for a matrix of their products.
  std::optional<SecondMoment> moment;
  // Inputs to evaluate factors on. Not part of the moment if there are several examples, so that
  // the fit does not look too good. Random without examples.
  std::vector<Tensor> judged;
};

// Runs the graph on the context's examples; needs up to 32 MB per layer, and the evaluation inputs.
// Fails as the examples and the device do. REQUIRES: nodes are of the graph, and read f32.
Result<std::vector<LayerInputs>> inputs_of(const Graph& graph, std::span<const LayerPlace> layers,
                                           const Context& context);

// A factor of a layer. It reads the factor before it, or the layer's input.
struct Factor {
  const Operator* op = nullptr;
  Tensor weights;
  Attributes attributes;
};

struct Factors {
  std::vector<Candidate> candidates;  // a front()
  size_t start = 0;                   // index to start the search at
  // The products for these ranks, at least one; the layer's bias goes to the last.
  std::function<Result<std::vector<Factor>>(const Ranks& ranks)> at;
};

// How a method takes layers apart. Functions without state.
struct Factorisation {
  // OK if the product can be factorised; otherwise the reason.
  Status (*accepts)(const Node& node, const WeightedProduct& product);
  // Fails with a reason to leave the node as it is. REQUIRES: accepts() does; `graph` outlives the
  // result; the product has elements.
  Result<Factors> (*take_apart)(const Graph& graph, const Node& node,
                                std::optional<Whitening> whitening, size_t block);
};

extern const Factorisation kSvd;     // Gemm, MatMul and convolutions of one tap
extern const Factorisation kTucker;  // other convolutions

struct FactoriseOptions {
  // The largest change of a layer's output: ||Wx - Ŵx||² / ||Wx||² over inputs x not used to choose
  // Ŵ. Ranks are the least that keep to it.
  double error = 0.01;
  // If set, replaces `error`: the largest ranks with which a layer is this many times as fast.
  std::optional<double> speed_up = {};
  size_t block = 16;  // of channels, as the device computes them
  Stopwatch stopwatch = wall_clock();
};

// What was done to a Conv, Gemm or MatMul.
struct LayerReport {
  std::string place;  // of the node, as messages name it
  Status refused;     // why it was left; OK: replaced, and the rest is set
  Ranks ranks = {};
  double error = 0;  // as FactoriseOptions has it
  double microseconds_before = 0;
  double microseconds_after = 0;
};

struct Factorised {
  Graph graph;
  std::vector<LayerReport> layers;  // in the graph's order
};

// Replaces layers of a graph after folding constants and batch normalisation, each only if that is
// faster on the context's device, alone and in turns with the layer. Uses the context's examples;
// without any, weights count by their size. Fails as the examples, the device and the stopwatch do.
Result<Factorised> factorise(const Graph& graph, const Context& context,
                             const Factorisation& factorisation,
                             const FactoriseOptions& options = {});

// The same as a compression method: kUnsupported, with the reason, if nothing was replaced.
Result<Compressed> factorised(const Graph& graph, const Context& context,
                              const Factorisation& factorisation);

// Whether it is a Conv, Gemm or MatMul.
bool is_product(const Node& node);

// OK if the method can factorise the node; otherwise the reason. `uses` are those of the graph.
Status accepts(const Factorisation& factorisation, const Graph& graph, const passes::UseDefs& uses,
               const Node& node);

// Channels of an image, or columns of a matrix. REQUIRES: the node is a product.
size_t feature_axis(const Graph& graph, const Node& node);

// The layer as its own only factor. REQUIRES: its weights are constant.
Factor factor_of(const Graph& graph, const Node& node);

// The chain alone, on the layer's input, without the bias, which does not affect the error.
Result<Graph> layer_graph(const Graph& graph, const Node& node, std::span<const Factor> factors);

// Replaces the node by the chain; the output keeps its name. kInternal if the factors do not fit
// the node. REQUIRES: there are factors.
Status replace(passes::Rewriter& rewriter, const Node& node, const std::vector<Factor>& factors);

}  // namespace shoal::compress
