// What the module is made of: each source adds its classes and functions.
#pragma once

#include <pybind11/pybind11.h>

namespace shoal::python {

void add_model(pybind11::module_& module);    // Model, TensorInfo, load
void add_session(pybind11::module_& module);  // Session, devices

}  // namespace shoal::python
