// The parts of the module: each source adds its classes and functions.
#pragma once

#include <pybind11/pybind11.h>

namespace shoal::python {

void add_model(pybind11::module_& module);    // Model, TensorInfo
void add_graph(pybind11::module_& module);    // Graph, Node
void add_dataset(pybind11::module_& module);  // Dataset
void add_train(pybind11::module_& module);    // _train, _train_on_cluster, _evaluate
void add_plan(pybind11::module_& module);     // _plan
void add_device(pybind11::module_& module);   // devices
void add_session(pybind11::module_& module);  // Session, Cancellation

}  // namespace shoal::python
