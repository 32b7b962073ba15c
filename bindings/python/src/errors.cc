// The exception of a Status, by the name of its class in shoal/_errors.py.
#include "errors.h"

#include <pybind11/pybind11.h>

#include <string>

namespace py = pybind11;

namespace shoal::python {
namespace {

const char* class_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "InvalidArgument";
    case Code::kNotFound:
      return "NotFound";
    case Code::kUnsupported:
      return "Unsupported";
    case Code::kCorrupt:
      return "Corrupt";
    case Code::kExhausted:
      return "Exhausted";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kDeadline:
      return "DeadlineExceeded";
    case Code::kCancelled:
      return "Cancelled";
    case Code::kOk:
    case Code::kInternal:
      break;
  }
  return "Internal";
}

}  // namespace

void raise(const Status& status) {
  // Messages may quote names from files, which need not be UTF-8.
  const std::string_view text = status.message();
  const auto message = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  const py::object type = py::module_::import("shoal._errors").attr(class_of(status.code()));
  PyErr_SetObject(type.ptr(), type(message).ptr());
  throw py::error_already_set();
}

}  // namespace shoal::python
