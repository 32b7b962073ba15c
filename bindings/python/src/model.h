// Arguments that name models and files.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "shoal/engine/session/model.h"

namespace shoal::python {

// A path in the system's encoding: from text, or from anything that os.fsencode takes.
std::string path_of(const pybind11::object& path);

// Shapes by the names of inputs: a mapping, or None. Raises for invalid shapes.
InputShapes to_shapes(const pybind11::object& given);

// From a path, "zoo:NAME", an ONNX file (bytes), or a Model. Raises if it cannot be loaded.
Model model_of(const pybind11::object& source);

}  // namespace shoal::python
