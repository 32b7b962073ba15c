// Quantisation after training: a float graph becomes one that says with QuantizeLinear and
// DequantizeLinear where it may be computed in integers: u8 activations, i8 weights with one scale
// per output channel, i32 biases. Whoever runs it folds them into its own kernels (fold_qdq does).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "shoal/compress/histogram.h"
#include "shoal/device/device.h"
#include "shoal/graph/graph.h"

namespace shoal::compress {

using Ranges = std::map<ValueId, Range>;

// The graph with constants and batch normalisation folded, as it is to be calibrated and quantised:
// one scale for a layer and its normalisation loses less than one for each.
Result<Graph> prepare(const Graph& graph);

// The values of a graph that are worth a byte: what products read and give, and what is between
// them. A result of the graph stays real.
std::vector<ValueId> values_to_quantize(const Graph& graph);

// Runs a graph and sees which range each of those values takes.
class Calibration {
 public:
  static Result<Calibration> start(const Graph& graph, Device& device);

  Status observe(std::span<const Tensor> inputs);
  Ranges ranges() const;

 private:
  std::unique_ptr<Executable> executable_;
  size_t results_ = 0;  // of the graph; the outputs after them are observed
  std::vector<ValueId> observed_;
  std::vector<Histogram> histograms_;
  std::vector<Tensor> outputs_;
};

// Needs the ranges of values_to_quantize(graph), or of those that are to be quantised among them.
Result<Graph> quantize(const Graph& graph, const Ranges& ranges);

}  // namespace shoal::compress
