// A small ONNX writer for tests: wire bytes from nested calls, right or wrong on purpose.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/onnx/program/onnx_model.h"

namespace shoal::onnx::testing {

class Message {
 public:
  Message& varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  Message& key(uint32_t field, uint32_t wire) { return varint(uint64_t{field} << 3 | wire); }
  Message& integer(uint32_t field, int64_t value) {
    return key(field, 0).varint(static_cast<uint64_t>(value));
  }
  Message& real(uint32_t field, float value) {
    key(field, 5).bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Message& text(uint32_t field, std::string_view value) {
    key(field, 2).varint(value.size()).bytes_ += value;
    return *this;
  }
  Message& message(uint32_t field, const Message& value) { return text(field, value.bytes_); }
  Message& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline Message ints(std::string_view name, std::initializer_list<int64_t> values) {
  Message attribute;
  attribute.text(1, name);
  for (int64_t value : values) attribute.integer(8, value);
  return attribute.integer(20, 7);
}
inline Message integer(std::string_view name, int64_t value) {
  return Message().text(1, name).integer(3, value).integer(20, 2);
}
inline Message real(std::string_view name, float value) {
  return Message().text(1, name).real(2, value).integer(20, 1);
}
inline Message graph_attribute(std::string_view name, const Message& graph) {
  return Message().text(1, name).message(6, graph).integer(20, 5);
}

// raw_data of any element type.
template <class T>
Message tensor(std::string_view name, int type, std::initializer_list<int64_t> dims,
               std::vector<T> elements) {
  Message tensor;
  for (int64_t d : dims) tensor.integer(1, d);
  return tensor.integer(2, type).text(8, name).text(
      9, {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)});
}

using Names = std::initializer_list<std::string_view>;

inline Message node(std::string_view op, Names inputs, Names outputs,
                    std::initializer_list<Message> attributes = {}, std::string_view name = {},
                    std::string_view domain = {}) {
  Message node;
  for (std::string_view input : inputs) node.text(1, input);
  for (std::string_view output : outputs) node.text(2, output);
  if (!name.empty()) node.text(3, name);
  node.text(4, op);
  for (const Message& attribute : attributes) node.message(5, attribute);
  if (!domain.empty()) node.text(7, domain);
  return node;
}

// Dimensions: a number, or the name of a symbol.
inline Message value_info(std::string_view name, int type, std::vector<std::string> dims) {
  Message shape;
  for (const std::string& dim : dims) {
    const bool number = dim.find_first_not_of("-0123456789") == std::string::npos;
    shape.message(1, number ? Message().integer(1, std::stoll(dim)) : Message().text(2, dim));
  }
  return Message().text(1, name).message(
      2, Message().message(1, Message().integer(1, type).message(2, shape)));
}

inline constexpr int kFloat = 1, kInt64 = 7, kBool = 9;  // of TensorProto.DataType
inline constexpr uint32_t kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12;  // of a graph

inline Message graph(std::initializer_list<std::pair<uint32_t, Message>> parts) {
  Message graph;
  for (const auto& [field, part] : parts) graph.message(field, part);
  return graph;
}

inline Message model_of(const Message& graph, int64_t opset = 17,
                        std::initializer_list<Message> functions = {}) {
  Message model;
  model.integer(1, 8).message(7, graph).message(8, Message().integer(2, opset));
  model.message(8, Message().text(1, "local").integer(2, 1));
  for (const Message& function : functions) model.message(25, function);
  return model;
}

inline Result<std::shared_ptr<const Model>> parse(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return Model::parse(owner, std::as_bytes(std::span<const char>(*owner)));
}
inline Result<std::shared_ptr<const Model>> parse(const Message& model) {
  return parse(model.bytes());
}

// Runs a graph node by node; the inputs in the graph's order.
inline std::vector<Tensor> evaluate(const Graph& graph, std::vector<Tensor> inputs) {
  std::vector<Tensor> values(graph.value_count());
  auto at = [&](ValueId id) -> Tensor& { return values[static_cast<size_t>(id)]; };
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (value.constant) values[i] = *value.constant;
  }
  for (size_t i = 0; i < inputs.size(); ++i) at(graph.inputs()[i]) = inputs[i];
  for (const Node& node : graph.nodes()) {
    std::vector<Tensor> in, out;
    for (ValueId id : node.inputs) in.push_back(id == kNoValue ? Tensor() : at(id));
    for (ValueId id : node.outputs) out.push_back(at(id) = Tensor(graph[id].type));
    node.op->reference(node, in, out);
  }
  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs()) outputs.push_back(at(id));
  return outputs;
}

}  // namespace shoal::onnx::testing
