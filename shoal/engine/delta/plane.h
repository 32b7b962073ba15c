// Pixels of a value, for copying and comparing: lines of a plane are contiguous, and there is one
// plane for each image and each channel or block of channels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shoal/engine/cpu/rectangle.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::delta {

// Whether an element of the rectangle differs by more than `most`, or is not a number. Elements
// that are not floats differ if their bytes do. REQUIRES: both have the same type.
bool differs(const Tensor& a, const Tensor& b, const cpu::Rectangle& where, float most);

// The smallest rectangle of these pixels outside of which nothing differs; empty: nothing does.
cpu::Rectangle difference(const Tensor& a, const Tensor& b, const cpu::Rectangle& where,
                          float most);

// Copies the rectangle. REQUIRES: both have the same type.
void copy_pixels(const Tensor& from, const cpu::Rectangle& where, Tensor& to);

// The square root of the mean square of all floats; 0 for other elements.
float root_mean_square(const Tensor& tensor);

}  // namespace shoal::delta
