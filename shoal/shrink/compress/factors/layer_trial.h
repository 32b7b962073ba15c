// LayerTrial: a layer and what might stand for it, computed from the same inputs on one device and
// timed in turns.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "shoal/base/timing/contest.h"
#include "shoal/engine/device/device.h"

namespace shoal::compress {

// Runs once and says how many microseconds that took. Fails as the run does.
using Stopwatch =
    std::function<Result<double>(Executable& executable, std::span<const Tensor> inputs)>;

// The time that passes.
Stopwatch wall_clock();

// Whether contender `number` of a race is to replace the layer, which is contender 0: it must have
// been faster, and clearly so where a busy machine left the times in doubt.
bool is_faster(const Contest& contest, size_t number);

// Contender 0 is the layer, the next ones are those that enter. Not thread-safe.
class LayerTrial {
 public:
  // `layer` has one input and one output, both f32; it is run on each of `inputs`. Fails as the
  // device does. REQUIRES: `device` outlives the trial; there are inputs, of the layer's type.
  static Result<LayerTrial> start(Device& device, const Graph& layer, std::vector<Tensor> inputs,
                                  Stopwatch stopwatch);

  // The number of a further contender. Fails as the device does. REQUIRES: the graph has the
  // layer's input and output types.
  Result<size_t> enter(const Graph& graph);

  // ||y - ŷ||² / ||y||² over all inputs, where y is the layer's output and ŷ the contender's; zero
  // if both are zero. Fails as the device does.
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

}  // namespace shoal::compress
