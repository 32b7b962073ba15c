// The distance between two tensors, relative to the larger elements.
#pragma once

#include <span>

#include "shoal/model/tensor/tensor.h"

namespace shoal {

// The relative error that results of different kernels or splits of one computation in f32 may
// have: they add in another order.
inline constexpr double kSameAnswer = 1e-4;

// Returns the largest difference between two elements as a share of the largest magnitude in
// `want`: max |got - want| / max |want|. Zero where all are equal, infinity where an element is NaN
// or infinite in one tensor and not the same in the other, where `want` is all zeros and `got` is
// not, and where types or shapes differ. Elements that are no floats differ by infinity or not at
// all.
double relative_error(const Tensor& got, const Tensor& want);

// The largest relative error of any pair; infinity where the numbers of tensors differ.
double relative_error(std::span<const Tensor> got, std::span<const Tensor> want);

}  // namespace shoal
