// Converts attributes of a file, and the Constant operator, to the engine's form.
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

// Refuses a name given twice. A reference to an attribute missing in the call is left out.
Result<std::vector<Argument>> resolve(std::span<const AttributeProto> attributes,
                                      const CallAttributes& call);

Result<Attributes> convert(std::string_view op, std::span<const Argument> arguments,
                           TensorLoader& loader);
size_t size_of(const Attributes& attributes);  // bytes in memory, tensors not counted

Result<Tensor> constant_of(std::span<const Argument> arguments, TensorLoader& loader);

}  // namespace shoal::onnx
