// ValueProbe: runs a graph and shows some of its inner values.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// Thread-compatible.
class ValueProbe {
 public:
  // Compiles the graph with these values as further outputs. Fails as device.compile() does.
  // REQUIRES: `device` outlives the probe.
  static Result<ValueProbe> create(const Graph& graph, std::vector<ValueId> values, Device& device);

  // Runs the graph; fails as the device does. REQUIRES: inputs have the graph's types and order.
  Status run(std::span<const Tensor> inputs);

  // The values that it shows, as create() was told.
  const std::vector<ValueId>& values() const { return values_; }
  // Value `i` of values() in the last run; it is overwritten by the next one.
  const Tensor& seen(size_t i) const { return outputs_[results_ + i]; }

 private:
  std::vector<ValueId> values_;
  std::unique_ptr<Executable> executable_;
  size_t results_ = 0;  // outputs of the graph itself, which come first
  std::vector<Tensor> outputs_;
};

}  // namespace shoal::compress

#pragma GCC visibility pop
