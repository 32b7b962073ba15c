// Devices by name, for Python.
#include "device.h"

#include <pybind11/pybind11.h>

#include "parts.h"
#include "shoal/engine/devices/devices.h"
#ifdef SHOAL_HAS_CLUSTER
#include "shoal/cluster/cluster.h"
#endif

namespace py = pybind11;

namespace shoal::python {
namespace {

py::dict devices() {
  py::dict summaries;
  for (const DeviceKind& kind : device_kinds()) summaries[py::str(kind.name)] = kind.summary;
  return summaries;
}

constexpr const char* kDevicesDoc =
    R"(The kinds of devices that a Session can run on, with a line about each.

>>> import shoal
>>> "cpu" in shoal.devices()
True
)";

}  // namespace

// The limit keeps a wrong number from starting that many threads.
Result<std::unique_ptr<Device>> open_device(const std::string& name, int threads, Tune tune,
                                            DeviceOptions options) {
  constexpr int kMostThreads = 1024;
  if (threads < 0 || threads > kMostThreads) {
    return invalid("threads must be between 0 and " + std::to_string(kMostThreads));
  }
  options.cpu = {.threads = threads, .tune = tune, .remember = tune != Tune::kOff};
  return make_device(name, options);
}

void add_device(py::module_& module) {
#ifdef SHOAL_HAS_CLUSTER
  register_cluster_device();
#endif
  module.def("devices", &devices, kDevicesDoc);
}

}  // namespace shoal::python
