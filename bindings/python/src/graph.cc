// Graph: a model with concrete shapes, to look at and to write as ONNX.
#include "shoal/model/graph/graph.h"

#include <pybind11/stl.h>

#include "array.h"
#include "errors.h"
#include "gil.h"
#include "model.h"
#include "parts.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/onnx/export/export.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

// A node as Python sees it: by names, so that it may outlive its graph.
struct NodeInfo {
  std::string op, name;
  std::vector<std::string> inputs, outputs;  // an empty name: an optional input left out
  Attributes attributes;
  int64_t macs = 0, parameters = 0;
};

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (ValueId id : ids) names.push_back(id == kNoValue ? "" : graph[id].name);
  return names;
}

// Nodes are copied on every access: they may outlive the graph, and lists of Python are not shared.
std::vector<NodeInfo> nodes_of(const LoadedGraph& loaded) {
  std::vector<NodeInfo> nodes;
  for (const Node& node : loaded.graph.nodes()) {
    nodes.push_back({std::string(node.op->name), place_of(loaded.graph, node),
                     names_of(loaded.graph, node.inputs), names_of(loaded.graph, node.outputs),
                     node.attributes, macs(loaded.graph, node), parameters(loaded.graph, node)});
  }
  return nodes;
}

// Attributes are values of Python; tensors among them are shown, not copied.
py::dict attributes_of(const NodeInfo& node) {
  py::dict attributes;
  for (const auto& [name, attribute] : node.attributes) {
    attributes[py::str(name)] = std::visit(
        []<class T>(const T& value) -> py::object {
          if constexpr (std::is_same_v<T, Tensor>) {
            return to_constant_array(value);
          } else {
            return py::cast(value);
          }
        },
        attribute);
  }
  return attributes;
}

// Views: weights may be large, and are read-only for Python because other sessions share them.
py::dict weights_of(const LoadedGraph& loaded) {
  py::dict weights;
  for (size_t i = 0; i < loaded.graph.value_count(); ++i) {
    const Value& value = loaded.graph[static_cast<ValueId>(i)];
    if (value.constant) weights[py::str(value.name)] = to_constant_array(*value.constant);
  }
  return weights;
}

std::vector<TensorInfo> infos_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<TensorInfo> infos;
  for (ValueId id : ids) {
    const auto& [name, type, constant] = graph[id];
    infos.push_back({.name = name,
                     .dtype = type.dtype,
                     .dims = std::vector<int64_t>(type.shape.begin(), type.shape.end())});
  }
  return infos;
}

std::vector<TensorInfo> outputs_of(const LoadedGraph& loaded) {
  std::vector<TensorInfo> infos = infos_of(loaded.graph, loaded.graph.outputs());
  for (size_t i = 0; i < infos.size(); ++i) infos[i].name = loaded.outputs[i];
  return infos;
}

py::bytes to_onnx(const LoadedGraph& loaded) {
  auto bytes = [&] {
    const ReleasedGil released;
    return onnx::to_onnx(loaded.graph, loaded.outputs);
  }();
  const std::vector<std::byte> content = unwrap(std::move(bytes));
  return py::bytes(reinterpret_cast<const char*>(content.data()), content.size());
}

void save(const LoadedGraph& loaded, const py::object& path) {
  const std::string name = path_of(path);
  const Status status = [&] {
    const ReleasedGil released;
    return onnx::write_onnx(loaded.graph, name, loaded.outputs);
  }();
  check(status);
}

constexpr const char* kGraphDoc =
    R"(A model with concrete shapes: nodes in the order in which they are computed.

Made by ``Model.graph``. ``str(graph)`` is its text form, as 'shoal inspect' prints it.

>>> import shoal
>>> graph = shoal.load("zoo:lenet5").graph()
>>> graph.nodes[0]
<shoal.Node Conv: input -> conv1>
>>> graph.parameters
431080
)";

}  // namespace

void add_graph(py::module_& module) {
  py::class_<NodeInfo>(module, "Node", "A node of a Graph: an operator, what it reads and writes.")
      .def_readonly("op", &NodeInfo::op, "The operator's ONNX name.")
      .def_readonly("name", &NodeInfo::name, "Its name, or what messages call it.")
      .def_readonly("inputs", &NodeInfo::inputs, "Names of values; '' for one that is left out.")
      .def_readonly("outputs", &NodeInfo::outputs, "Names of values.")
      .def_property_readonly("attributes", &attributes_of, "By name, as in ONNX.")
      .def_readonly("macs", &NodeInfo::macs, "Multiply-accumulates that it takes.")
      .def_readonly("parameters", &NodeInfo::parameters, "Elements of its weights.")
      .def("__repr__", [](const NodeInfo& node) {
        const std::string from = node.inputs.empty() ? "" : node.inputs[0];
        return "<shoal.Node " + node.op + ": " + from + " -> " + node.outputs[0] + ">";
      });
  py::class_<LoadedGraph, std::shared_ptr<LoadedGraph>>(module, "Graph", kGraphDoc)
      .def_property_readonly(
          "inputs", [](const LoadedGraph& g) { return infos_of(g.graph, g.graph.inputs()); },
          "What it takes.")
      .def_property_readonly("outputs", &outputs_of, "What it gives, by the model's names.")
      .def_property_readonly("nodes", &nodes_of, "A list of Node.")
      .def_property_readonly("weights", &weights_of, "Constants by name: arrays to be read only.")
      .def_property_readonly(
          "parameters", [](const LoadedGraph& g) { return parameters(g.graph); },
          "How many numbers training would learn.")
      .def("to_onnx", &to_onnx, "The bytes of an ONNX file, opset 17.")
      .def("save", &save, py::arg("path"),
           "Writes an ONNX file, opset 17; it appears when it is complete.")
      .def("__str__", [](const LoadedGraph& g) { return to_text(g.graph); });
}

}  // namespace shoal::python
