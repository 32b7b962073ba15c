// SparseNetwork: a network that computes only where a mask says so (SSI [Mao 2019]).
//
// The mask of the input is mapped to each value's plane; a node whose kernel can leave out parts of
// its output (engine/cpu/kernel.h) computes only the set tiles, and zeros elsewhere. Other kernels
// compute everything. A scan of the mask gives rectangles (delta::TileMask::rectangles), and no
// element is copied.
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

// The margin in pixels around boxes found this many frames ago. The source gives 64, the ratio of
// the first map of features to the last, and says only that it grows.
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
  // kUnsupported if the device is no CPU, or unless the graph has one input and outputs that nodes
  // compute; fails as the device does. `most_tile`: the most rows and columns of a tile, unless a
  // kernel needs more.
  static Result<SparseNetwork> compile(const Graph& graph, Device& device, int64_t most_tile = 8);

  size_t outputs() const { return whole_->graph().outputs().size(); }

  // The tiles of the last layer computed for a mask of the input, a superset of it. All, if none
  // can be left out.
  delta::TileMask computed(const delta::TileMask& mask) const;

  // Runs where the mask is set. Defined outputs are written into, others are allocated. Fails as
  // the device does. REQUIRES: the input has the graph's type, the mask covers its plane, and there
  // are outputs().
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
