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

#include <vector>

#include "shoal/base/status.h"
#include "shoal/compress/calibration.h"
#include "shoal/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The graph with constants and batch normalisation folded, as it is to be calibrated and quantised:
// one scale for a layer and its normalisation loses less than one for each. Fails where a pass
// does.
Result<Graph> prepare(const Graph& graph);

// The values of a graph that are worth a byte: those that products read and give, and those between
// them. A result that no node of the graph reads stays real.
std::vector<ValueId> values_to_quantize(const Graph& graph);

// The quantised graph. `ranges` are those of values_to_quantize(graph), or of some of them: values
// without a range stay real. Fails with kInternal if a node refuses its quantised inputs, which is
// a bug.
Result<Graph> quantize(const Graph& graph, const Ranges& ranges);

}  // namespace shoal::compress

#pragma GCC visibility pop
