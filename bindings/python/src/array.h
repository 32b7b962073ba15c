// NumPy array <-> Tensor, without copying wherever both can share the memory.
#pragma once

#include <pybind11/numpy.h>

#include <memory>

#include "shoal/model/tensor/tensor.h"

namespace shoal::python {

// The NumPy type with this representation. NumPy has no bfloat16: its bits are passed as uint16.
pybind11::dtype numpy_type(DType dtype);

// Keeps a Python object alive. May be dropped on any thread, with or without the GIL.
std::shared_ptr<const void> keep(pybind11::object object);

// The elements of `value` as a tensor. A C-contiguous, aligned NumPy array in the machine's byte
// order is viewed, not copied, and kept alive by the tensor; other arrays are copied into that
// form. A value without an element type, such as a list, gets `wanted`. An array of uint16 is read
// as bfloat16 if `wanted` is. Raises if the elements have no DType.
//
// The tensor may be dropped on any thread, with or without the GIL.
Tensor to_tensor(pybind11::handle value, DType wanted);

// An array that shares the tensor's memory and keeps it alive.
// REQUIRES: nothing else writes to the tensor, or reads it after the array was handed out.
pybind11::array to_array(const Tensor& tensor);

// Likewise for elements that must not be written, such as weights.
pybind11::array to_constant_array(const Tensor& tensor);

}  // namespace shoal::python
