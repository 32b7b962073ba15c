// Attributes and constants of a file: see constant.h.
#include "shoal/model/onnx/format/constant.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "shoal/base/overloaded.h"
#include "shoal/base/text/printable.h"
#include "shoal/model/onnx/format/attribute_kind.h"

namespace shoal::onnx {
namespace {

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::of<T>(Shape{static_cast<int64_t>(values.size())}, std::span<const T>(values));
}

Result<Attribute> convert_one(const AttributeProto& proto, TensorLoader& loader) {
  using Out = Result<Attribute>;
  return std::visit(Overloaded{
                        [](float v) -> Out { return Attribute(v); },
                        [](int64_t v) -> Out { return Attribute(v); },
                        [](std::string_view v) -> Out { return Attribute(std::string(v)); },
                        [](const std::vector<float>& v) -> Out { return Attribute(v); },
                        [](const std::vector<int64_t>& v) -> Out { return Attribute(v); },
                        [](const std::vector<std::string_view>& v) -> Out {
                          return Attribute(std::vector<std::string>(v.begin(), v.end()));
                        },
                        [&](const std::shared_ptr<const TensorProto>& v) -> Out {
                          SHOAL_ASSIGN(Tensor tensor, loader.load(*v));
                          return Attribute(std::move(tensor));
                        },
                        [](const auto&) -> Out {
                          return Status(Code::kUnsupported, "has a type no operator here takes");
                        },
                    },
                    proto.value);
}

}  // namespace

// In a function, an attribute may refer to one of the call. A call may leave it out; the attribute
// is then absent, not an error.
Result<std::vector<Argument>> resolve(std::span<const AttributeProto> attributes,
                                      const CallAttributes& call) {
  std::vector<Argument> arguments;
  std::unordered_set<std::string_view> seen;
  for (const AttributeProto& attribute : attributes) {
    if (!seen.insert(attribute.name).second) {
      return invalid("attribute " + printable(attribute.name) + " is given twice");
    }
    if (attribute.reference.empty()) {
      arguments.push_back({attribute.name, &attribute});
      continue;
    }
    const auto it = call.find(attribute.reference);
    if (it == call.end()) continue;
    const AttributeProto* given = it->second;
    // The function declares the type it expects. A call with another would reach an operator as a
    // wrong type.
    if (attribute.kind != AttributeKind{} && given->kind != attribute.kind) {
      return invalid("attribute " + printable(attribute.name) + " has the wrong type in the call");
    }
    arguments.push_back({attribute.name, given});
  }
  return arguments;
}

Result<Attributes> convert(std::string_view op, std::span<const Argument> arguments,
                           TensorLoader& loader) {
  Attributes attributes;
  for (const Argument& argument : arguments) {
    if (!is_kind_of(op, argument.name, argument.proto->kind)) {
      return invalid("attribute " + printable(argument.name) + " has the wrong type");
    }
    auto value = convert_one(*argument.proto, loader);
    if (!value.ok()) return value.status().at("attribute " + printable(argument.name));
    attributes.emplace(argument.name, *std::move(value));
  }
  return attributes;
}

// Inlining copies the attributes of a function once per call, so their memory is charged by this
// size. Tensors are shared between the copies.
size_t size_of(const Attributes& attributes) {
  size_t bytes = 0;
  for (const auto& [name, value] : attributes) {
    bytes += sizeof(Attributes::value_type) + name.size();
    if (const auto* s = std::get_if<std::string>(&value)) bytes += s->size();
    if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) bytes += v->size() * 8;
    if (const auto* v = std::get_if<std::vector<float>>(&value)) bytes += v->size() * 4;
    if (const auto* v = std::get_if<std::vector<std::string>>(&value)) {
      for (const std::string& s : *v) bytes += sizeof(s) + s.size();
    }
  }
  return bytes;
}

Result<Tensor> constant_of(std::span<const Argument> arguments, TensorLoader& loader) {
  if (arguments.size() != 1) return invalid("a Constant has one attribute");
  using Out = Result<Tensor>;
  return std::visit(
      Overloaded{
          [](float v) -> Out { return Tensor::of<float>({}, {v}); },
          [](int64_t v) -> Out { return Tensor::of<int64_t>({}, {v}); },
          [](const std::vector<float>& v) -> Out { return vector_of(v); },
          [](const std::vector<int64_t>& v) -> Out { return vector_of(v); },
          [&](const std::shared_ptr<const TensorProto>& v) { return loader.load(*v); },
          [&](const std::shared_ptr<const SparseTensorProto>& v) { return loader.load(*v); },
          [](const auto&) -> Out {
            return Status(Code::kUnsupported, "a Constant that is not a tensor of numbers");
          },
      },
      arguments[0].proto->value);
}

}  // namespace shoal::onnx
