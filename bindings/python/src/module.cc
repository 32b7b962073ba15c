// shoal._core: the library as a Python module. The package around it (../shoal) is what users
// import.
#include "parts.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "Shoal's library. Import `shoal` instead, which has all of it.";
  module.attr("__version__") = SHOAL_VERSION;
  shoal::python::add_model(module);
  shoal::python::add_graph(module);
  shoal::python::add_plan(module);
  shoal::python::add_dataset(module);
  shoal::python::add_train(module);
  shoal::python::add_device(module);
  shoal::python::add_session(module);
}
