// The systolic array as a device: MatMulInteger and ConvInteger run on the model of array.h, and so
// do the quantised products that become them (lower_quantized). All else runs on a fallback device.
//
//   SHOAL_ASSIGN(auto device, make_systolic_device({.buffers = 16}, make_reference_device()));
//   ... run ...
//   device->counts().cycles
#pragma once

#include <memory>

#include "shoal/engine/device/device.h"
#include "shoal/engine/systolic/array.h"
#include "shoal/model/graph/graph.h"

namespace shoal::systolic {

// Quantised products as integer products, which the array computes, and nodes that add the bias,
// scale and round.

// The graph with QLinearConv, FusedQLinearConv, QGemm and QLinearMatMul as ConvInteger or
// MatMulInteger and what follows. The answers are the same to the last bit. Nodes whose parameters
// have shapes that the new nodes do not take are unchanged.
Result<Graph> lower_quantized(const Graph& graph);

class SystolicDevice : public Device {
 public:
  // Of all runs so far. Thread-safe.
  virtual Counts counts() const = 0;
};

// There is one array: concurrent runs take turns, and constant weights stay in its buffers between
// runs. Fails where check(options) does. REQUIRES: `fallback` computes in host memory.
Result<std::unique_ptr<SystolicDevice>> make_systolic_device(const ArrayOptions& options,
                                                             std::unique_ptr<Device> fallback);

// Registers the kind "systolic" with make_device(): the thesis' array, with the CPU as fallback.
void register_systolic_device();

}  // namespace shoal::systolic
