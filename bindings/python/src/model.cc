// Model and TensorInfo for Python, and arguments that name models.
#include "model.h"

#include <pybind11/stl.h>

#include "array.h"
#include "errors.h"
#include "gil.h"
#include "parts.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

py::object shape_of(const TensorInfo& info) {
  if (!info.dims) return py::none();
  py::tuple shape(info.dims->size());
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t dim = (*info.dims)[i];
    shape[i] = dim < 0 ? py::object(py::none()) : py::object(py::int_(dim));
  }
  return shape;
}

std::string text_of(const TensorInfo& info) {
  std::string text = info.dtype ? std::string(name_of(*info.dtype)) : "?";
  if (!info.dims) return text;
  text += '[';
  for (size_t i = 0; i < info.dims->size(); ++i) {
    const int64_t dim = (*info.dims)[i];
    text += (i > 0 ? "," : "") + (dim < 0 ? "?" : std::to_string(dim));
  }
  return text + ']';
}

// Weights are views of the bytes, which are immutable: the model keeps them.
Result<Model> parse(const py::bytes& bytes) {
  // The view is taken while the GIL is held; `owner` keeps the bytes object alive without it.
  const auto view = std::as_bytes(std::span(std::string_view(bytes)));
  auto owner = keep(bytes);
  const ReleasedGil released;
  return parse_model(std::move(owner), view);
}

// Building a network of the zoo may take a while: other Python threads go on meanwhile.
std::vector<TensorInfo> inputs_of(const Model& model) {
  return unwrap([&] {
    const ReleasedGil released;
    return model.inputs();
  }());
}
std::vector<TensorInfo> outputs_of(const Model& model) {
  return unwrap([&] {
    const ReleasedGil released;
    return model.outputs();
  }());
}

Shape to_shape(const std::vector<int64_t>& dims) {
  if (dims.size() > Shape::kMaxRank) raise(invalid("a shape has too many dimensions"));
  return Shape(std::span(dims));
}

LoadedGraph graph_of(const Model& model, const py::object& given) {
  const InputShapes shapes = to_shapes(given);
  auto loaded = [&] {
    const ReleasedGil released;
    return model.graph(shapes);
  }();
  return unwrap(std::move(loaded));
}

constexpr const char* kModelDoc = R"(A network as it was loaded, not yet on a device.

``source`` is the path of an ONNX file, "zoo:NAME" for a network that is built in, or the bytes of
an ONNX file. Several sessions may be opened on one model: they share its weights.

>>> import shoal
>>> model = shoal.Model("zoo:lenet5")
>>> model.inputs
[<shoal.TensorInfo input: f32[1,1,28,28]>]
)";

constexpr const char* kGraphOfDoc = R"(The model's Graph for inputs of these shapes.

Inputs that are not named have the shape that the model declares, with 1 for each open dimension.

>>> import shoal
>>> shoal.Model("zoo:lenet5").graph().outputs
[<shoal.TensorInfo output: f32[1,10]>]
)";

}  // namespace

InputShapes to_shapes(const py::object& given) {
  InputShapes shapes;
  if (given.is_none()) return shapes;
  if (!py::hasattr(given, "keys")) throw py::type_error("shapes are a mapping");
  for (const auto& [name, dims] : py::dict(given)) {
    try {
      shapes.emplace(name.cast<std::string>(), to_shape(dims.cast<std::vector<int64_t>>()));
    } catch (const py::cast_error&) {
      throw py::type_error("shapes are sequences of integers by the names of inputs");
    }
  }
  return shapes;
}

// os.fsencode takes str, bytes and os.PathLike, and keeps names that are not UTF-8.
std::string path_of(const py::object& path) {
  return py::module_::import("os").attr("fsencode")(path).cast<std::string>();
}

// Issues warnings, if any. The user may have made warnings errors.
Model with_warning(Model model) {
  const std::string warning = model.warning();
  if (!warning.empty() && PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), 1) != 0) {
    throw py::error_already_set();
  }
  return model;
}

Model model_of(const py::object& source) {
  if (py::isinstance<Model>(source)) return source.cast<Model>();
  if (py::isinstance<py::bytes>(source)) return with_warning(unwrap(parse(py::bytes(source))));
  const std::string path = path_of(source);
  auto opened = [&] {
    const ReleasedGil released;
    return open_model(path);
  }();
  return with_warning(unwrap(std::move(opened)));
}

void add_model(py::module_& module) {
  py::class_<TensorInfo>(module, "TensorInfo", "An input or an output of a model.")
      .def_readonly("name", &TensorInfo::name, "Its name in the model.")
      .def_property_readonly(
          "dtype",
          [](const TensorInfo& info) -> py::object {
            if (!info.dtype) return py::none();
            return numpy_type(*info.dtype);
          },
          "NumPy's type of the elements; uint16 where they are bfloat16, None for an output that\n"
          "does not declare it.")
      .def_property_readonly("shape", &shape_of,
                             "A tuple; None for a dimension of any size, and for any rank.")
      .def_readonly("optional", &TensorInfo::optional, "An input that the model has a default for.")
      .def_property_readonly("type", &text_of, "Type and shape as text: 'f32[1,3,?,?]'.")
      .def("__repr__", [](const TensorInfo& info) {
        return "<shoal.TensorInfo " + info.name + ": " + text_of(info) + ">";
      });
  py::class_<Model>(module, "Model", kModelDoc)
      .def(py::init(&model_of), py::arg("source"))
      .def_property_readonly("name", &Model::name, "What it was loaded from.")
      .def_property_readonly("inputs", &inputs_of, "What it takes: a list of TensorInfo.")
      .def_property_readonly("outputs", &outputs_of, "What it gives: a list of TensorInfo.")
      .def("graph", &graph_of, py::arg("shapes") = py::none(), kGraphOfDoc)
      .def("__repr__", [](const Model& model) { return "<shoal.Model " + model.name() + ">"; });
}

}  // namespace shoal::python
