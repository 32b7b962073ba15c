// SparseNetwork: a network that computes only where a mask says so (SSI [Mao 2019]).
//
// The mask of the input is brought to the plane of each value, and of a node whose kernel can leave
// out parts of its output (engine/cpu/rectangle_kernel.h) only the tiles that are set are computed;
// the others are zero. Other kernels compute their whole output from what there is. As with the
// source's index of positions and smaller matrix, a tile costs what it has of the pixels; a scan of
// the mask gives the rectangles (delta::TileMask::rectangles), and no element is copied.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/cpu/executable.h"
#include "shoal/engine/cpu/rectangle_kernel.h"
#include "shoal/engine/delta/kept_values.h"
#include "shoal/engine/delta/tile_mask.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::keyframe {

// Thread-compatible.
class SparseNetwork {
 public:
  // kUnsupported if the device is no CPU, or the graph has not one input and outputs that nodes
  // compute; fails as the device does. `most_tile`: rows and columns of a tile, at most, unless a
  // kernel wants more.
  static Result<SparseNetwork> compile(const Graph& graph, Device& device, int64_t most_tile = 8);

  size_t outputs() const { return whole_->graph().outputs().size(); }

  // The tiles of the last layer that are computed for a mask of the input, a superset of it. With
  // all tiles set, or none that can be left out, everything is computed.
  delta::TileMask computed(const delta::TileMask& mask) const;

  // Runs where the mask of the input says so. Outputs that are defined are written into, others are
  // made. Fails as the device does. REQUIRES: the input has the graph's type, the mask covers its
  // plane, and there are outputs().
  Status run(const Tensor& input, const delta::TileMask& mask, std::span<Tensor> outputs);

 private:
  explicit SparseNetwork(std::unique_ptr<Executable> executable);

  std::unique_ptr<Executable> executable_;
  const cpu::CpuExecutable* whole_ = nullptr;  // the same
  delta::KeptValues values_;
  std::vector<const cpu::RectangleKernel*> kernels_;  // per node; null: computes everything
  std::vector<delta::Grid> grids_;                    // of their outputs
};

}  // namespace shoal::keyframe
