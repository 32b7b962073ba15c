// Session: a model on a device, for NumPy arrays.
#include "shoal/session/session.h"

#include <pybind11/stl.h>

#include <chrono>

#include "array.h"
#include "errors.h"
#include "gil.h"
#include "model.h"
#include "parts.h"
#include "shoal/cpu/cpu.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

Result<std::unique_ptr<Device>> open_device(const std::string& name, int threads) {
  if (name == "reference") return make_reference_device();
  if (name == "cpu")
    return make_cpu_device({.threads = threads, .tune = Tune::kFast, .remember = true});
  return Status(Code::kNotFound, "there is no device " + name + ": cpu or reference");
}

std::string text_of(py::handle key) {
  if (!py::isinstance<py::str>(key)) raise(invalid("inputs are given by name: keys are strings"));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
  if (text == nullptr) throw py::error_already_set();
  return {text, static_cast<size_t>(size)};
}

class PySession {
 public:
  PySession(const py::object& source, const std::string& device, int threads)
      : model_(open_model(source)) {
    if (threads < 0 || threads > 1024) raise(invalid("threads must be between 0 and 1024"));
    auto opened = [&]() -> Status {
      const ReleasedGil released;
      SHOAL_ASSIGN(device_, open_device(device, threads));
      SHOAL_ASSIGN(auto session, open_session());
      session_ = std::make_unique<Session>(std::move(session));
      return {};
    }();
    check(opened);
    inputs_ = model_->inputs();
  }

  // Threads of a device may hold arrays, and need the GIL to let go of them.
  ~PySession() {
    const ReleasedGil released;
    session_.reset();
    device_.reset();
  }

  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  std::vector<TensorInfo> outputs() const { return model_->outputs(); }
  std::string device() const { return device_->info().name; }

  py::dict run(const py::dict& inputs) {
    const Session::Tensors tensors = convert(inputs);
    auto answers = [&] {
      const ReleasedGil released;
      return session_->run(tensors);
    }();
    py::dict arrays;
    for (const auto& [name, tensor] : unwrap(std::move(answers))) {
      arrays[py::str(name)] = to_array(tensor);
    }
    return arrays;
  }

  // Where the library sees the elements of inputs: for the test that they are not copied.
  std::map<std::string, uintptr_t> addresses(const py::dict& inputs) const {
    std::map<std::string, uintptr_t> addresses;
    for (const auto& [name, tensor] : convert(inputs)) {
      addresses[name] = reinterpret_cast<uintptr_t>(tensor.bytes().data());
    }
    return addresses;
  }

  // What a C++ caller's runs take, in seconds: the measure of run()'s overhead.
  std::vector<double> time_runs(const py::dict& inputs, int count) {
    const Session::Tensors tensors = convert(inputs);
    std::vector<double> seconds;
    Status status;
    {
      const ReleasedGil released;
      for (int i = 0; i < count && status.ok(); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        status = session_->run(tensors).status();
        seconds.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      }
    }
    check(status);
    return seconds;
  }

 private:
  Result<Session> open_session() {
    if (const auto* graph = std::get_if<Graph>(&model_->loaded)) {
      return Session::open(*graph, *device_);
    }
    return Session::open(std::get<0>(model_->loaded), *device_);
  }

  Session::Tensors convert(const py::dict& inputs) const {
    Session::Tensors tensors;
    for (const auto& [key, value] : inputs) {
      const std::string name = text_of(key);
      const auto info = std::ranges::find(inputs_, name, &TensorInfo::name);
      if (info == inputs_.end()) raise(invalid("the model has no input " + name));
      tensors.emplace(name, to_tensor(value, info->dtype));
    }
    return tensors;
  }

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
  std::vector<TensorInfo> inputs_;
};

constexpr const char* kSessionDoc = R"(A model on a device, ready for requests.

``model`` is a Model or whatever can be made one: a path, "zoo:NAME", or the bytes of an ONNX file.
``device`` is "cpu", or "reference", which is slow and plain. ``threads`` is the number of threads
that one request may use; 0 takes one for each core. Safe for concurrent use by several threads.

>>> import numpy as np, shoal
>>> session = shoal.Session("zoo:lenet5", threads=1)
>>> session.inputs[0].shape
(1, 1, 28, 28)
>>> session.run({"input": np.zeros((1, 1, 28, 28), np.float32)})["output"].argmax()
9
)";

constexpr const char* kRunDoc = R"(Answers one request: arrays by the names of inputs, in and out.

An array that is C-contiguous, aligned and in the machine's byte order is read where it lies, and
must not be changed until the call returns; other arrays are copied first. Element types must be the
model's; lists and numbers are converted. An input may also be anything that NumPy takes without
copying: a buffer, or an object with ``__array__`` or ``__dlpack__``.

The arrays returned belong to the caller. They are handed to other libraries without copying by
``__dlpack__``. Other Python threads go on while the model runs.

>>> import numpy as np, shoal
>>> session = shoal.Session("zoo:lenet5")
>>> sorted(session.run({"input": np.ones((1, 1, 28, 28), np.float32)}))
['output']
>>> session.run({"image": [1, 2, 3]})
Traceback (most recent call last):
shoal._errors.InvalidArgument: the model has no input image
)";

}  // namespace

void add_session(py::module_& module) {
  py::class_<PySession>(module, "Session", kSessionDoc)
      .def(py::init<const py::object&, const std::string&, int>(), py::arg("model"), py::kw_only(),
           py::arg("device") = "cpu", py::arg("threads") = 0)
      .def_property_readonly("inputs", &PySession::inputs, "What the model takes.")
      .def_property_readonly("outputs", &PySession::outputs, "What the model gives.")
      .def_property_readonly("device", &PySession::device, "The name of the device: 'cpu'.")
      .def("run", &PySession::run, py::arg("inputs"), kRunDoc)
      .def("_addresses", &PySession::addresses, py::arg("inputs"),
           "Where the library sees the elements of inputs; for tests.")
      .def("_time_runs", &PySession::time_runs, py::arg("inputs"), py::arg("count"),
           "Seconds that each of several runs takes a C++ caller; for benchmarks.");
}

}  // namespace shoal::python
