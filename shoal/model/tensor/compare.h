// The distance between two tensors, relative to the larger elements.
#pragma once

#include <span>

#include "shoal/model/tensor/tensor.h"

namespace shoal {

// The relative error that results of different kernels or splits of one computation in f32 may
// have: they add in another order.
inline constexpr double kSameAnswer = 1e-4;

// Returns the largest difference between two elements as a share of the largest magnitude in
// `want`: max |got - want| / max |want|. Zero if all are equal. Infinity if a NaN or infinite
// element is not the same in the other tensor, if `want` is all zeros and `got` is not, if types or
// shapes differ, and for different elements that are not floats.
double relative_error(const Tensor& got, const Tensor& want);

// The largest relative error of any pair; infinity if the numbers of tensors differ.
double relative_error(std::span<const Tensor> got, std::span<const Tensor> want);

}  // namespace shoal
