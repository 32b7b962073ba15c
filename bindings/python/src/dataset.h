// Labelled images as arguments.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "shoal/engine/inputs/image.h"
#include "shoal/train/data/dataset.h"

namespace shoal::python {

// A data set as Python holds it: open data sets are immutable and may be shared.
struct PyDataset {
  std::shared_ptr<const Dataset> data;
};

// Takes the options for preparing images out of `options`: preset, resize, crop, stretch, mean,
// std, scale, bgr, nhwc.
Preprocess take_preprocess(pybind11::dict& options);

// Takes one option, if present, out of `options`. Raises TypeError if it has another type.
template <class T>
void take(pybind11::dict& options, const char* name, T& value) {
  if (!options.contains(name)) return;
  try {
    value = options[name].cast<T>();
  } catch (const pybind11::cast_error&) {
    throw pybind11::type_error(std::string(name) + " is of the wrong type");
  }
  options.attr("pop")(name);
}

// Raises TypeError if an option is left: its name is unknown.
void refuse_rest(const pybind11::dict& options);

}  // namespace shoal::python
