// Session: a model on a device, for NumPy arrays.
#include "shoal/engine/session/session.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stop_token>

#include "array.h"
#include "device.h"
#include "errors.h"
#include "gil.h"
#include "model.h"
#include "parts.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

std::string text_of(py::handle key) {
  if (!py::isinstance<py::str>(key)) raise(invalid("inputs are given by name: keys are strings"));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
  if (text == nullptr) throw py::error_already_set();
  return {text, static_cast<size_t>(size)};
}

// A deadline this many seconds from now: a number, or a datetime.timedelta.
Deadline deadline_in(const py::object& given) {
  if (given.is_none()) return kNoDeadline;
  const py::object number =
      py::hasattr(given, "total_seconds") ? given.attr("total_seconds")() : given;
  const double seconds = PyFloat_AsDouble(number.ptr());
  if (seconds == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  // Seconds that no clock can hold mean no deadline, and negative ones one that has passed.
  constexpr double kForever = 1e9;  // 30 years
  if (std::isnan(seconds)) raise(invalid("the deadline is not a number"));
  if (seconds > kForever) return kNoDeadline;
  const std::chrono::duration<double> wait(std::max(seconds, -kForever));
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(wait);
}

class PySession {
 public:
  PySession(const py::object& source, const std::string& device, int threads, int survive,
            bool throughput, uint64_t verify)
      : model_(model_of(source)) {
    auto opened = [&]() -> Status {
      const ReleasedGil released;
      SHOAL_ASSIGN(device_,
                   open_device(device, threads, Tune::kFast,
                               {.throughput = throughput, .survive = survive, .verify = verify}));
      SHOAL_ASSIGN(auto session, model_.session(*device_));
      session_ = std::make_unique<Session>(std::move(session));
      // Everything that may take long happens without the GIL, and nothing in this scope touches
      // Python. A failure is raised after the GIL is back.
      SHOAL_ASSIGN(inputs_, model_.inputs());
      SHOAL_ASSIGN(outputs_, model_.outputs());
      return {};
    }();
    check(opened);
  }

  // Threads of a device may hold arrays, and need the GIL to let go of them.
  ~PySession() {
    const ReleasedGil released;
    session_.reset();
    device_.reset();
  }

  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }
  std::string device() const { return device_->info().name; }

  void prepare(const py::object& given) {
    const InputShapes shapes = to_shapes(given);
    const Status status = [&] {
      const ReleasedGil released;
      return session_->prepare(shapes);
    }();
    check(status);
  }

  py::dict run(const py::dict& inputs, const py::object& deadline,
               const std::stop_source* cancellation) {
    const Session::Tensors tensors = convert(inputs);
    RequestOptions options{.deadline = deadline_in(deadline)};
    if (cancellation != nullptr) options.cancel = cancellation->get_token();
    auto answered = [&] {
      const ReleasedGil released;
      return session_->run(tensors, options);
    }();
    const Session::Tensors answers = unwrap(std::move(answered));
    py::dict arrays;  // in the model's order
    for (const TensorInfo& output : outputs_) {
      arrays[py::str(output.name)] = to_array(answers.at(output.name));
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

  // The seconds that each run takes a C++ caller: the measure of run()'s overhead.
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
  Session::Tensors convert(const py::dict& inputs) const {
    Session::Tensors tensors;
    for (const auto& [key, value] : inputs) {
      const std::string name = text_of(key);
      const auto info = std::ranges::find(inputs_, name, &TensorInfo::name);
      if (info == inputs_.end()) raise(invalid("the model has no input " + name));
      tensors.emplace(name, to_tensor(value, *info->dtype));  // inputs declare it
    }
    return tensors;
  }

  Model model_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
  std::vector<TensorInfo> inputs_, outputs_;
};

constexpr const char* kSessionDoc = R"(A model on a device, ready for requests.

``model`` is a Model or whatever can be made one: a path, "zoo:NAME", or the bytes of an ONNX file.
``device`` is one of ``shoal.devices()``: "cpu", "reference", which is slow and plain, or "cluster".
``threads`` is the number of threads that one request may use; 0 takes one for each core. Of a
cluster, ``survive`` workers (0 to 2) may be lost in the middle of a request without a delay, and
``throughput`` plans for many answers a second instead of one answer soon. With ``survive``, one
request of every ``verify`` is checked for wrong results, and workers that give them are left out; 0
checks none. Safe for concurrent use by several threads.

>>> import numpy as np, shoal
>>> session = shoal.Session("zoo:lenet5", threads=1)
>>> session.inputs[0].shape
(1, 1, 28, 28)
>>> session.run({"input": np.zeros((1, 1, 28, 28), np.float32)})["output"].argmax()
9
)";

constexpr const char* kCancellationDoc =
    R"(Takes requests back: what run() was given it, raises Cancelled soon.

>>> import numpy as np, shoal
>>> session = shoal.Session("zoo:lenet5")
>>> cancellation = shoal.Cancellation()
>>> cancellation.cancel()  # as a rule by another thread
>>> session.run({"input": np.zeros((1, 1, 28, 28), np.float32)}, cancellation=cancellation)
Traceback (most recent call last):
shoal._errors.Cancelled: the run was cancelled
)";

constexpr const char* kPrepareDoc =
    R"(Compiles the model for inputs of these shapes, so that the first request is fast.

Inputs that are not named have the shape that the model declares.

>>> import shoal
>>> shoal.Session("zoo:digits").prepare({"image": (1, 1, 28, 28)})
)";

constexpr const char* kRunDoc = R"(Answers one request: arrays by the names of inputs, in and out.

An array that is C-contiguous, aligned and in the machine's byte order is read where it lies, and
must not be changed until the call returns; other arrays are copied first. Element types must be the
model's; lists and numbers are converted. An input may also be anything that NumPy takes without
copying: a buffer, or an object with ``__array__`` or ``__dlpack__``.

The arrays returned belong to the caller. They are handed to other libraries without copying by
``__dlpack__``. Other Python threads go on while the model runs.

``deadline`` is in seconds from now, or a datetime.timedelta: DeadlineExceeded is raised if there is
no answer by then. Compiling for new shapes is not interrupted (``prepare``). A ``Cancellation``
lets another thread take the request back.

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
  py::class_<std::stop_source>(module, "Cancellation", kCancellationDoc)
      .def(py::init<>())
      .def(
          "cancel", [](std::stop_source& source) { source.request_stop(); },
          "Lets requests that were given this end soon. Safe to call from any thread.")
      .def_property_readonly("cancelled", &std::stop_source::stop_requested,
                             "Whether cancel() was called.");
  py::class_<PySession>(module, "Session", kSessionDoc)
      .def(py::init<const py::object&, const std::string&, int, int, bool, uint64_t>(),
           py::arg("model"), py::kw_only(), py::arg("device") = "cpu", py::arg("threads") = 0,
           py::arg("survive") = 0, py::arg("throughput") = false, py::arg("verify") = 0)
      .def_property_readonly("inputs", &PySession::inputs, "What the model takes.")
      .def_property_readonly("outputs", &PySession::outputs, "What the model gives.")
      .def_property_readonly("device", &PySession::device, "The name of the device: 'cpu'.")
      .def("prepare", &PySession::prepare, py::arg("shapes") = py::none(), kPrepareDoc)
      .def("run", &PySession::run, py::arg("inputs"), py::kw_only(),
           py::arg("deadline") = py::none(), py::arg("cancellation") = py::none(), kRunDoc)
      .def("_addresses", &PySession::addresses, py::arg("inputs"),
           "Where the library sees the elements of inputs; for tests.")
      .def("_time_runs", &PySession::time_runs, py::arg("inputs"), py::arg("count"),
           "Seconds that each of several runs takes a C++ caller; for benchmarks.");
}

}  // namespace shoal::python
