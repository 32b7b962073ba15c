// NumPy arrays and tensors. Both directions share memory: a tensor that views an array owns a
// reference to it, and an array that shows a tensor has a capsule with a copy of the handle as its
// base.
#include "array.h"

#include <memory>
#include <string>
#include <vector>

#include "errors.h"
#include "gil.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

// By kind and size: on one machine NumPy has two numbers for 64-bit integers.
DType dtype_of(const py::dtype& type, DType wanted) {
  const auto bytes = static_cast<size_t>(type.itemsize());
  const auto pick = [&](std::initializer_list<DType> list) -> DType {
    for (DType dtype : list) {
      if (size_of(dtype) == bytes) return dtype;
    }
    const auto name = py::str(static_cast<const py::object&>(type)).cast<std::string>();
    raise(invalid("elements of NumPy's type " + name + " are not supported"));
  };
  switch (type.kind()) {
    case 'f':
      return pick({DType::kF32, DType::kF64, DType::kF16});
    case 'i':
      return pick({DType::kI8, DType::kI16, DType::kI32, DType::kI64});
    case 'u':
      if (bytes == 2 && wanted == DType::kBF16) return DType::kBF16;
      return pick({DType::kU8, DType::kU16, DType::kU32, DType::kU64});
    case 'b':
      return DType::kBool;
    default:
      return pick({});
  }
}

py::object numpy() { return py::module_::import("numpy"); }

// Arrays, buffers and __array__ before __dlpack__: NumPy keeps the type of their elements.
py::array as_array(py::handle value, DType wanted) {
  if (py::isinstance<py::array>(value)) return py::reinterpret_borrow<py::array>(value);
  const bool array_like = py::hasattr(value, "__array__") || py::hasattr(value, "__buffer__") ||
                          PyObject_CheckBuffer(value.ptr()) != 0;
  if (array_like) return numpy().attr("asarray")(value);
  if (py::hasattr(value, "__dlpack__")) return numpy().attr("from_dlpack")(value);
  return numpy().attr("asarray")(value, numpy_type(wanted));
}

bool is_viewable(const py::array& array) {
  constexpr int kFlags = int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
  const char order = array.dtype().byteorder();
  return (array.flags() & kFlags) == kFlags && (order == '=' || order == '|');
}

}  // namespace

std::shared_ptr<const void> keep(py::object object) {
  PyObject* const pointer = object.release().ptr();
  return {pointer, [pointer](const void*) {
            // An interpreter on its way out has no GIL to give, and frees all memory anyway.
            if (_Py_IsFinalizing()) return;
            const AcquiredGil gil;
            Py_DECREF(pointer);
          }};
}

py::dtype numpy_type(DType dtype) {
  using py::detail::npy_api;
  constexpr int kHalf = 23;  // NPY_HALF, which pybind11 does not name
  switch (dtype) {
    case DType::kF32:
      return py::dtype(npy_api::NPY_FLOAT_);
    case DType::kF64:
      return py::dtype(npy_api::NPY_DOUBLE_);
    case DType::kF16:
      return py::dtype(kHalf);
    case DType::kBF16:
    case DType::kU16:
      return py::dtype(npy_api::NPY_UINT16_);
    case DType::kI8:
      return py::dtype(npy_api::NPY_INT8_);
    case DType::kU8:
      return py::dtype(npy_api::NPY_UINT8_);
    case DType::kI16:
      return py::dtype(npy_api::NPY_INT16_);
    case DType::kI32:
      return py::dtype(npy_api::NPY_INT32_);
    case DType::kU32:
      return py::dtype(npy_api::NPY_UINT32_);
    case DType::kI64:
      return py::dtype(npy_api::NPY_INT64_);
    case DType::kU64:
      return py::dtype(npy_api::NPY_UINT64_);
    case DType::kBool:
      return py::dtype(npy_api::NPY_BOOL_);
  }
  raise(Status(Code::kInternal, "unknown element type"));
}

Tensor to_tensor(py::handle value, DType wanted) {
  py::array array = as_array(value, wanted);
  TensorType type{dtype_of(array.dtype(), wanted), {}};
  if (static_cast<size_t>(array.ndim()) > Shape::kMaxRank) {
    raise(invalid("an array of " + std::to_string(array.ndim()) + " dimensions: at most " +
                  std::to_string(Shape::kMaxRank) + " are possible"));
  }
  for (py::ssize_t d = 0; d < array.ndim(); ++d) type.shape.push_back(array.shape(d));
  check(shoal::check(type));
  if (!is_viewable(array)) {
    const py::dtype native = array.dtype().attr("newbyteorder")("=");
    array = numpy().attr("array")(array, native, py::arg("order") = "C", py::arg("copy") = true);
  }
  const auto* data = static_cast<const std::byte*>(array.data());
  return Tensor::view(type, data, keep(std::move(array)));
}

// The order matters: the capsule owns the tensor once it exists, and its destructor deletes it.
py::array to_array(const Tensor& tensor) {
  auto owner = std::make_unique<Tensor>(tensor);
  const py::capsule base(owner.get(), [](void* pointer) { delete static_cast<Tensor*>(pointer); });
  const Tensor& kept = *owner.release();
  const Shape& shape = kept.shape();
  return py::array(numpy_type(kept.dtype()), std::vector<py::ssize_t>(shape.begin(), shape.end()),
                   kept.bytes().data(), base);
}

py::array to_constant_array(const Tensor& tensor) {
  py::array array = to_array(tensor);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

}  // namespace shoal::python
