// Quantisation after training: a float graph becomes one that says with QuantizeLinear and
// DequantizeLinear where it may be computed in integers: u8 activations, i8 weights with one scale
// per output channel, i32 biases. A device folds them into its own kernels (the pass fold_qdq
// does).
//
//   SHOAL_ASSIGN(Graph graph, compress::prepare(network));
//   SHOAL_ASSIGN(auto calibration, compress::Calibration::start(graph, device));
//   for (const Tensor& image : images) SHOAL_TRY(calibration.observe({&image, 1}));
//   SHOAL_ASSIGN(Graph quantized, compress::quantize(graph, calibration.ranges()));
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/analysis/histogram.h"
#include "shoal/shrink/compress/quantization/calibration.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// When products stay real.
struct FallbackRule {
  double most_noise = 0.1;  // of the answers, all quantised products together: 10 dB
  double most_work = 0.25;  // the share of the work that may stay real; 0: none does
};

// A value.
struct Int8Options {
  // Of values, and of the weights of each output channel; nothing: what is best on examples that
  // the ranges were not seen on.
  std::optional<RangeRule> ranges = {};
  bool correct_bias = true;  // where that helps on such examples
  FallbackRule fallback = {};
};

// The graph as it is to be calibrated and quantised. Constants and batch normalisation are folded:
// one scale for a layer and its normalisation loses less than one for each. Where no layer takes
// the normalisation up, it is a product of its own. Swish and HardSwish are one node each, which a
// table of 256 bytes can stand for. Fails where a pass does.
Result<Graph> prepare(const Graph& graph);

// Products, by their outputs.
using Products = std::set<ValueId>;

// The products of a graph that can be quantised, in its order.
std::vector<ValueId> products_to_quantize(const Graph& graph);

// The values of a graph that are worth a byte, if the products `real` stay as they are: those that
// the other products read and give, and those between them. What no such product depends on stays
// real, but for what it reads itself.
std::vector<ValueId> values_to_quantize(const Graph& graph, const Products& real = {});

// What to add to the bias of a product per output channel, by its output. Conv and Gemm have one.
using Shifts = std::map<ValueId, std::vector<float>>;

// How to quantise.
struct QuantizeOptions {
  RangeRule weights = RangeRule::kMinMax;  // of each output channel
  Products real = {};                      // stay as they are
  Shifts shifts = {};                      // of the others; see rounding_errors.h
  // Weights stay constants of f32, which are rounded on the way, and biases stay real: a network
  // that can still learn (train/step/graph/differentiate.h). Without shifts.
  bool learns = false;
};

// The quantised graph. `ranges` are those of values_to_quantize(graph), or of some of them: values
// without a range stay real. Values that hold the same elements, such as the parts of a Concat that
// nothing else reads, share a range that holds both. Fails with kInternal if a node refuses its
// quantised inputs, which is a bug.
Result<Graph> quantize(const Graph& graph, const Ranges& ranges,
                       const QuantizeOptions& options = {});

}  // namespace shoal::compress

#pragma GCC visibility pop
