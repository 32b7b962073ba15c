// Kernels over lines of elements, for operators that reduce a line to a number or use such a
// number.
#pragma once

#include <string>
#include <vector>

#include "shoal/engine/gpu/work.h"
#include "shoal/model/ops/broadcast.h"

namespace shoal::gpu {

// A kernel written statement by statement, with `line` as the number of its line. The items of a
// group share a line: each adds up every L-th element, and a tree in local memory joins their sums.
// Without local memory, and for short lines, each item computes a line.
class LineKernel {
 public:
  LineKernel(const Capabilities& device, int64_t lines, int64_t length);

  // One number from all elements: `value` of element j, `join`ed as a and b. `before` are
  // statements of j that `value` needs.
  void reduce(const std::string& name, const std::string& start, const std::string& value,
              const std::string& join, const std::string& before = "");

  void statement(const std::string& text) { body_ += text; }
  void for_each(const std::string& text);  // of element j
  void once(const std::string& text);

  Launch finish(std::vector<Argument> arguments) const;

 private:
  const Capabilities& device_;
  const int64_t lines_, length_;
  int64_t items_ = 1;
  std::string body_;
};

inline constexpr const char* kSum = "a + b";

// The division of a line into parts, one per group, if there are too few lines to keep a device
// busy. The last part may be shorter.
struct LineParts {
  int64_t count = 1, length = 0;  // length: of a part
  LineParts(const Capabilities& device, int64_t lines, int64_t whole);
};

// A choice of a tensor's axes.
struct Axes {
  Shape shape;
  ops::Strides strides;
};

// y[line] = finish(join of value(e) over all elements e of the line). Lines are along the axes
// `gone` of `from`, one for each element of those `kept`.
struct Reduction {
  Argument from, to;
  Axes kept, gone;
  std::string start = "0.0f", join = kSum;
  std::string value = "e";       // of the float e
  std::string finish = "total";  // of the float total
};

// Appends the launches of a reduction and its scratch memory.
void add_reduction(const Reduction& reduction, const Capabilities& device, Work& work);

}  // namespace shoal::gpu
