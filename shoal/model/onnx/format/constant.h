// Attributes of a file in the form of the engine, and the Constant operator, which consists of
// them.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shoal/model/graph/operator.h"
#include "shoal/model/onnx/format/proto.h"
#include "shoal/model/onnx/format/tensors.h"

namespace shoal::onnx {

// An attribute of a node, after references to the attributes of a call are resolved. It points into
// the file.
struct Argument {
  std::string_view name;
  const AttributeProto* proto = nullptr;
};

// The attributes of a call of a function, by name.
using CallAttributes = std::unordered_map<std::string_view, const AttributeProto*>;

// Refuses a name given twice. A reference to an attribute the call did not give leaves it out.
Result<std::vector<Argument>> resolve(std::span<const AttributeProto> attributes,
                                      const CallAttributes& call);

Result<Attributes> convert(std::string_view op, std::span<const Argument> arguments,
                           TensorLoader& loader);
size_t size_of(const Attributes& attributes);  // bytes in memory, tensors not counted

Result<Tensor> constant_of(std::span<const Argument> arguments, TensorLoader& loader);

}  // namespace shoal::onnx
