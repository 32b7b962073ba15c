// SparseNetwork: a network that computes only where a mask says so (SSI [Mao 2019]).
//
// The mask of the input is brought to the plane of each value, and of a node whose kernel can leave
// out parts of its output (engine/cpu/kernel.h) only the tiles that are set are computed;
// the others are zero. Other kernels compute their whole output from what there is. As with the
// source's index of positions and smaller matrix, a tile costs what it has of the pixels; a scan of
// the mask gives the rectangles (delta::TileMask::rectangles), and no element is copied.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/cpu/executable.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/rectangle.h"
#include "shoal/engine/delta/changes.h"
#include "shoal/engine/delta/kept_values.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/keyframe/flow.h"

namespace shoal::keyframe {

// Masks for spatially sparse inference: where in an image a network is to compute (SSI [Mao 2019]).
// The masks are those of delta inference (delta/changes.h).

// By how many pixels boxes of objects grow: more, the longer ago they were found. The source gives
// 64, the ratio of the first map of features to the last, and says only that it grows.
int64_t margin_after(int64_t frames);

// Feedback mask: the tiles that a box, enlarged on each side and clipped to the plane, overlaps.
// Boxes may begin and end anywhere.
delta::TileMask box_mask(const delta::Grid& grid, std::span<const cpu::Rectangle> boxes,
                         int64_t margin);

// Brightness mask: the tiles with a pixel that differs by `threshold` levels or more. REQUIRES:
// both planes have the size of the grid.
delta::TileMask brightness_mask(const delta::Grid& grid, const Plane& then, const Plane& now,
                                int threshold);

// Tiles that both masks have. REQUIRES: they have the same grid.
delta::TileMask both(const delta::TileMask& a, const delta::TileMask& b);

// The mask on another grid of the same image, most often that of a smaller plane: a tile is set if
// one that overlaps it is (max-pooling).
delta::TileMask regridded(const delta::TileMask& mask, const delta::Grid& grid);

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
