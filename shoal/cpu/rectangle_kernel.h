// RectangleKernel: a kernel that can leave out parts of its output.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/cpu/kernel.h"
#include "shoal/cpu/rectangle.h"

namespace shoal::cpu {

class RectangleKernel : public Kernel {
 public:
  // Rows and columns of the output that are computed together.
  virtual int64_t granule() const { return 1; }
  // Computes only the pixels in these rectangles of output 0, as run() would; the others stay as
  // they are. REQUIRES: rectangles are disjoint and not empty, and begin and end at multiples of
  // granule() or at the end of the plane.
  virtual void run_in(const KernelArgs& args, std::span<const Rectangle> where) const = 0;
};

}  // namespace shoal::cpu
