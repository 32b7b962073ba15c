// Post-training quantisation: QuantizeLinear and DequantizeLinear mark where a float graph may be
// computed in integers: u8 activations, i8 weights with one scale per output channel, i32 biases.
// The pass fold_qdq folds them into a device's kernels.
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
  // For values, and the weights of each output channel; nullopt: what is best on examples not used
  // for the ranges.
  std::optional<RangeRule> ranges = {};
  bool correct_bias = true;  // if that helps on such examples
  FallbackRule fallback = {};
};

// The graph for calibration and quantisation. Constants and batch normalisation are folded: one
// scale loses less than two. A normalisation that no layer takes up becomes a product. Swish and
// HardSwish become one node each, which a table of 256 bytes can compute. Fails as a pass does.
Result<Graph> prepare(const Graph& graph);

// Products, by their outputs.
using Products = std::set<ValueId>;

// The products of a graph that can be quantised, in its order.
std::vector<ValueId> products_to_quantize(const Graph& graph);

// The values worth a byte if the products `real` stay real: those that the other products read or
// compute, and those between them. Values that no such product depends on stay real, unless it
// reads them itself.
std::vector<ValueId> values_to_quantize(const Graph& graph, const Products& real = {});

// Additions to the biases of products per output channel, by output. Conv and Gemm have a bias.
using Shifts = std::map<ValueId, std::vector<float>>;

// How to quantise.
struct QuantizeOptions {
  RangeRule weights = RangeRule::kMinMax;  // of each output channel
  Products real = {};                      // stay as they are
  Shifts shifts = {};                      // of the others; see rounding_errors.h
  // For training (train/step/graph/differentiate.h): weights stay f32 constants, rounded by nodes,
  // and biases stay real. Without shifts.
  bool learns = false;
};

// The quantised graph. `ranges` cover some or all of values_to_quantize(graph); other values stay
// real. Values with the same elements, such as the parts of a Concat that nothing else reads, share
// a range. kInternal, which is a bug, if a node refuses its quantised inputs.
Result<Graph> quantize(const Graph& graph, const Ranges& ranges,
                       const QuantizeOptions& options = {});

}  // namespace shoal::compress

#pragma GCC visibility pop
