// Model: a network as it was loaded, not yet on a device.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shoal/graph/graph.h"
#include "shoal/onnx/model.h"

namespace shoal::python {

// An input or an output as a model declares it.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::optional<std::vector<int64_t>> dims;  // -1: any size; nothing: any rank
  bool optional = false;                     // an input with a default
};

struct Model {
  std::variant<std::shared_ptr<const onnx::Model>, Graph> loaded;

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
};

// From a path, "zoo:NAME", an ONNX file in memory (bytes), or a Model. Raises what cannot be
// loaded.
std::shared_ptr<Model> open_model(const pybind11::object& source);

}  // namespace shoal::python
