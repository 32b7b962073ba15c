// ImageColumns: the right factor of a convolution as a matrix product (im2col), one column per
// output element, one row per tap and input channel. It is gathered panel by panel from the image
// and never exists as a whole, because it is taps() times as large.
#pragma once

#include <span>
#include <vector>

#include "shoal/engine/cpu/product/product.h"
#include "shoal/model/ops/window.h"

namespace shoal::cpu {

// Geometry of a convolution, computed once for all images of a node.
struct ImageGeometry {
  explicit ImageGeometry(const ops::Window& window);

  ops::Window window;
  std::vector<ops::Range> columns;  // by tap of the last axis: the outputs it lies in the image for
};

// Consecutive outputs in one row.
struct OutputRun {
  int64_t length;
  int64_t depth, row, column;  // of the first
};

// Cuts the outputs [j, j_end) at the ends of rows. REQUIRES: `runs` has room for j_end - j.
std::span<const OutputRun> cut_into_runs(const ops::Window& window, int64_t j, int64_t j_end,
                                         std::span<OutputRun> runs);

class ImageColumns : public RightFactor {
 public:
  // x is the channels of one image and group, [channels, depth, rows, columns]. Geometry and x must
  // outlive this.
  ImageColumns(const ImageGeometry& geometry, const float* x, int64_t channels);
  void pack(int64_t k, int64_t k_end, int64_t j, int64_t j_end, float* panels) const override;

 private:
  const ImageGeometry& geometry_;
  const float* x_;
  const float* x_end_;
};

}  // namespace shoal::cpu
