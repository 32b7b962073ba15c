// RectangleKernel: a kernel that can leave out parts of its output.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/rectangle.h"

namespace shoal::cpu {

class RectangleKernel : public Kernel {
 public:
  // Rows and columns of the output that are computed together.
  virtual int64_t granule() const { return 1; }
  // Computes only the pixels in these rectangles of output 0; the others stay as they are. Every
  // bit is as run() gives it where rectangles begin and end at multiples of granule() or at the end
  // of the plane; elsewhere pixels may be rounded differently. A rectangle takes as long as if its
  // sides were multiples of granule(). REQUIRES: rectangles are disjoint and not empty.
  virtual void run_in(const KernelArgs& args, std::span<const Rectangle> where) const = 0;
};

}  // namespace shoal::cpu
