// Windows (model/ops/window.h) as numbers of a kernel's source.
#pragma once

#include <map>
#include <string>

#include "shoal/model/ops/window.h"

namespace shoal::gpu {

// in_d, in_h, in_w, out_*, kernel_*, stride_*, dilation_*, pad_*, full_* of depth (d), rows
// (h) and columns (w); `full` is the input with its padding.
std::map<std::string, std::string> numbers_of(const ops::Window& window);

// Whether an int holds every position of the window, and an item may walk all taps, padding
// included: a model may ask for a window of a billion.
bool is_small(const ops::Window& window);

}  // namespace shoal::gpu
