// Calibration: the ranges of a graph's values, observed on examples.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/analysis/histogram.h"
#include "shoal/shrink/compress/analysis/value_probe.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The range that each value takes.
using Ranges = std::map<ValueId, Range>;

// Examples to run a graph on: the inputs of each, in the graph's order.
// A value; `at` may be called by one thread at a time.
struct CalibrationData {
  size_t count = 0;
  std::function<Result<std::vector<Tensor>>(size_t index)> at = {};
};

// Random but reproducible inputs: good for measuring speed, not accuracy. REQUIRES: `graph`
// outlives the result.
CalibrationData random_examples(const Graph& graph, size_t count = 8);

// Observes the range of each of values_to_quantize(graph). Thread-compatible.
class Calibration {
 public:
  // Compiles the graph, and fails as device.compile() does. REQUIRES: `device` outlives the
  // calibration.
  static Result<Calibration> start(const Graph& graph, Device& device);

  // Runs the graph on the inputs of one example; fails as the device does. REQUIRES: they have the
  // graph's types and order.
  Status observe(std::span<const Tensor> inputs);
  // Observes all examples; `progress` is called before each with its index. Fails as the examples
  // and the device do; earlier examples still count.
  Status observe(const CalibrationData& data, const std::function<void(size_t)>& progress = {});
  // The ranges of the examples so far by this rule; [0, 0] for a value that was always zero.
  Ranges ranges(RangeRule rule = RangeRule::kMse) const;

 private:
  Calibration(ValueProbe probe, std::vector<ElementFunction> readers)
      : probe_(std::move(probe)),
        readers_(std::move(readers)),
        histograms_(probe_.values().size()) {}

  ValueProbe probe_;
  std::vector<ElementFunction> readers_;  // per value: what is all that reads it; else empty
  std::vector<Histogram> histograms_;
};

// The largest magnitude of the f32 values that nodes compute, by name, on one set of inputs. Fails
// as the device does. REQUIRES: inputs have the graph's types and order.
Result<std::map<std::string, float, std::less<>>> largest_magnitudes(
    const Graph& graph, Device& device, std::span<const Tensor> inputs);
// The same on one random input: enough to measure speed, not to trust the answers.
Result<std::map<std::string, float, std::less<>>> random_magnitudes(const Graph& graph,
                                                                    Device& device);

}  // namespace shoal::compress

#pragma GCC visibility pop
