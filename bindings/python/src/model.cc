#include "model.h"

#include <pybind11/stl.h>

#include "array.h"
#include "errors.h"
#include "gil.h"
#include "parts.h"
#include "shoal/onnx/bind.h"
#include "shoal/onnx/export.h"
#include "shoal/zoo/embedded.h"
#include "shoal/zoo/zoo.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

constexpr std::string_view kZoo = "zoo:";

TensorInfo info_of(const std::string& name, const onnx::DeclaredType& type, bool optional) {
  TensorInfo info{name, type.dtype, std::nullopt, optional};
  if (!type.dims) return info;
  info.dims.emplace();
  for (const onnx::Dimension& dim : *type.dims) info.dims->push_back(dim.size.value_or(-1));
  return info;
}

TensorInfo info_of(const Value& value) {
  const Shape& shape = value.type.shape;
  return {value.name, value.type.dtype, std::vector<int64_t>(shape.begin(), shape.end()), false};
}

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
  std::string text = std::string(name_of(info.dtype));
  if (!info.dims) return text;
  text += '[';
  for (size_t i = 0; i < info.dims->size(); ++i) {
    const int64_t dim = (*info.dims)[i];
    text += (i > 0 ? "," : "") + (dim < 0 ? "?" : std::to_string(dim));
  }
  return text + ']';
}

// Weights are views of the bytes, which are immutable: the model keeps them.
Result<std::shared_ptr<const onnx::Model>> parse(const py::bytes& bytes) {
  const auto view = std::as_bytes(std::span(std::string_view(bytes)));
  auto owner = keep(bytes);
  const ReleasedGil released;
  return onnx::Model::parse(std::move(owner), view);
}

Result<Model> open_by_name(const std::string& name) {
  if (name == "zoo:digits") {
    SHOAL_ASSIGN(auto model, onnx::Model::parse(nullptr, zoo::digits_model()));
    return Model{std::move(model)};
  }
  if (name.starts_with(kZoo)) {
    SHOAL_ASSIGN(Graph graph, zoo::build(std::string_view(name).substr(kZoo.size())));
    return Model{std::move(graph)};
  }
  SHOAL_ASSIGN(auto model, onnx::Model::open(name));
  return Model{std::move(model)};
}

constexpr const char* kModelDoc = R"(A network as it was loaded, not yet on a device.

``source`` is the path of an ONNX file, "zoo:NAME" for a network that is built in, or the bytes of
an ONNX file. Several sessions may be opened on one model: they share its weights.

>>> import shoal
>>> model = shoal.Model("zoo:lenet5")
>>> model.inputs
[<shoal.TensorInfo input: f32[1,1,28,28]>]
)";

}  // namespace

std::vector<TensorInfo> Model::inputs() const {
  std::vector<TensorInfo> infos;
  if (const auto* graph = std::get_if<Graph>(&loaded)) {
    for (ValueId id : graph->inputs()) infos.push_back(info_of((*graph)[id]));
    return infos;
  }
  for (const onnx::ModelInput& input : std::get<0>(loaded)->inputs()) {
    infos.push_back(info_of(input.name, input.type, input.optional));
  }
  return infos;
}

std::vector<TensorInfo> Model::outputs() const {
  std::vector<TensorInfo> infos;
  if (const auto* graph = std::get_if<Graph>(&loaded)) {
    for (ValueId id : graph->outputs()) infos.push_back(info_of((*graph)[id]));
    return infos;
  }
  for (const onnx::ModelOutput& output : std::get<0>(loaded)->outputs()) {
    infos.push_back(info_of(output.name, output.type.value_or(onnx::DeclaredType{}), false));
  }
  return infos;
}

std::shared_ptr<Model> open_model(const py::object& source) {
  if (py::isinstance<Model>(source)) return source.cast<std::shared_ptr<Model>>();
  if (py::isinstance<py::bytes>(source)) {
    return std::make_shared<Model>(Model{unwrap(parse(py::bytes(source)))});
  }
  const auto path = py::module_::import("os").attr("fsencode")(source).cast<std::string>();
  auto opened = [&] {
    const ReleasedGil released;
    return open_by_name(path);
  }();
  return std::make_shared<Model>(unwrap(std::move(opened)));
}

void add_model(py::module_& module) {
  py::class_<TensorInfo>(module, "TensorInfo", "An input or an output of a model.")
      .def_readonly("name", &TensorInfo::name, "Its name in the model.")
      .def_property_readonly(
          "dtype", [](const TensorInfo& info) { return numpy_type(info.dtype); },
          "NumPy's type of the elements; uint16 where they are bfloat16.")
      .def_property_readonly("shape", &shape_of,
                             "A tuple; None for a dimension of any size, and for any rank.")
      .def_readonly("optional", &TensorInfo::optional, "An input that the model has a default for.")
      .def_property_readonly("type", &text_of, "Type and shape as text: 'f32[1,3,?,?]'.")
      .def("__repr__", [](const TensorInfo& info) {
        return "<shoal.TensorInfo " + info.name + ": " + text_of(info) + ">";
      });
  py::class_<Model, std::shared_ptr<Model>>(module, "Model", kModelDoc)
      .def(py::init(&open_model), py::arg("source"))
      .def_property_readonly("inputs", &Model::inputs, "What it takes: a list of TensorInfo.")
      .def_property_readonly("outputs", &Model::outputs, "What it gives: a list of TensorInfo.");
}

}  // namespace shoal::python
