// The inputs that a model declares, against the inputs that a request gives. Models of any origin
// are checked here, so that stages and devices may rely on types.
#include "shoal/engine/session/signature.h"

#include <algorithm>

#include "shoal/model/onnx/program/onnx_model.h"

namespace shoal {
namespace {

std::vector<int64_t> dims_of(const onnx::DeclaredType& type) {
  std::vector<int64_t> dims;
  if (!type.dims) return dims;
  for (const onnx::Dimension& d : *type.dims) dims.push_back(d.size.value_or(-1));
  return dims;
}

std::string declared_shape(const InputInfo& input) {
  std::string text;
  for (int64_t d : input.dims) {
    text += (text.empty() ? "" : ",") + (d < 0 ? "?" : std::to_string(d));
  }
  return "[" + text + "]";
}

// An open dimension fits any size.
bool fits(const Shape& shape, const std::vector<int64_t>& dims) {
  return std::ranges::equal(shape, dims,
                            [](int64_t size, int64_t dim) { return dim < 0 || dim == size; });
}

}  // namespace

Signature::Signature(const onnx::Model& model) {
  // Two rounds: inputs without a default come first, so that callers by position may leave out the
  // rest.
  for (const bool optional : {false, true}) {
    for (const onnx::ModelInput& input : model.inputs()) {
      if (input.optional != optional) continue;
      inputs_.push_back({input.name, input.type.dtype, dims_of(input.type), optional});
      any_rank_.push_back(!input.type.dims);
      any_shape_.push_back(!input.type.dims || !input.shape_read);
    }
  }
  for (const onnx::ModelOutput& output : model.outputs()) outputs_.push_back(output.name);
  number_inputs();
}

Signature::Signature(const Graph& graph) {
  for (ValueId id : graph.inputs()) {
    const auto& [name, type, constant] = graph[id];
    inputs_.push_back({name, type.dtype, {type.shape.begin(), type.shape.end()}, false});
    any_rank_.push_back(false);
    any_shape_.push_back(false);
  }
  for (ValueId id : graph.outputs()) outputs_.push_back(graph[id].name);
  number_inputs();
}

void Signature::number_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) index_[inputs_[i].name] = i;
}

Result<size_t> Signature::find(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return invalid("the model has no input " + name);
  return found->second;
}

Result<std::vector<Tensor>> Signature::arrange(const std::map<std::string, Tensor>& given) const {
  std::vector<Tensor> arranged(inputs_.size());
  for (const auto& [name, tensor] : given) {
    SHOAL_ASSIGN(const size_t input, find(name));
    arranged[input] = tensor;
  }
  return arranged;
}

Status Signature::accepts(std::span<const Tensor> given) const {
  if (given.size() > inputs_.size()) {
    return invalid("the model has " + std::to_string(inputs_.size()) + " inputs, " +
                   std::to_string(given.size()) + " were given");
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (i < given.size() && given[i].defined()) {
      SHOAL_TRY(accepts(i, given[i].type()));
    } else if (!inputs_[i].optional) {
      return invalid("input " + inputs_[i].name + " is missing");
    }
  }
  return {};
}

Status Signature::accepts(size_t input, const TensorType& type) const {
  const InputInfo& info = inputs_[input];
  if (type.dtype != info.dtype) {
    return invalid("input " + info.name + ": has elements of type " +
                   std::string(name_of(type.dtype)) + ", the model takes " +
                   std::string(name_of(info.dtype)));
  }
  if (any_shape_[input] || fits(type.shape, info.dims)) return {};
  return invalid("input " + info.name + ": has shape " + to_string(type.shape) +
                 ", the model takes " + declared_shape(info));
}

Result<TensorType> Signature::declared_type(size_t input) const {
  const InputInfo& info = inputs_[input];
  const bool is_open = std::ranges::any_of(info.dims, [](int64_t d) { return d < 0; });
  // A hostile file may declare more dimensions than a Shape has.
  if (is_open || any_rank_[input] || info.dims.size() > Shape::kMaxRank) {
    return invalid("the model does not say which shape input " + info.name + " has");
  }
  return TensorType{info.dtype, Shape(std::span<const int64_t>(info.dims))};
}

Result<std::vector<std::optional<TensorType>>> Signature::types_for(
    const std::map<std::string, Shape>& shapes) const {
  std::vector<std::optional<TensorType>> types(inputs_.size());
  for (const auto& [name, shape] : shapes) {
    SHOAL_ASSIGN(const size_t input, find(name));
    types[input] = TensorType{inputs_[input].dtype, shape};
    SHOAL_TRY(accepts(input, *types[input]));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!types[i] && !inputs_[i].optional) {
      SHOAL_ASSIGN(types[i], declared_type(i));
    }
    // The product of dimensions from a file or a caller may overflow.
    if (types[i]) SHOAL_TRY(check(*types[i]).at("input " + inputs_[i].name));
  }
  return types;
}

}  // namespace shoal
