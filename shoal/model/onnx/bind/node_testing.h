// For tests of normalizations: a model of one node, which is run at once.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/program/encode_testing.h"
#include "shoal/model/ops/onnx_dtype.h"

namespace shoal::onnx::testing {

struct Case {
  std::string op;
  int64_t opset;
  std::vector<Tensor> inputs;  // the first comes at run time, the others are constants
  std::vector<Message> attributes = {};
  size_t outputs = 1;
  std::string domain = {};
};

inline int onnx_type(DType dtype) { return static_cast<int>(ops::onnx_number_of(dtype)); }

inline Result<std::vector<Tensor>> run(const Case& one) {
  Message node, graph;
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    const Tensor& tensor = one.inputs[i];
    const std::string name = "x" + std::to_string(i);
    node.text(1, tensor.defined() ? name : "");
    if (!tensor.defined()) continue;
    Message value;
    std::vector<std::string> dims;
    for (int64_t d : tensor.shape()) {
      value.integer(1, d);
      dims.push_back(std::to_string(d));
    }
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes().data()),
                                 tensor.bytes().size());
    value.integer(2, onnx_type(tensor.dtype())).text(8, name).text(9, bytes);
    if (i == 0) {
      graph.message(kInput, value_info(name, onnx_type(tensor.dtype()), dims));
    } else {
      graph.message(kInitializer, value);
    }
  }
  for (size_t i = 0; i < one.outputs; ++i) {
    node.text(2, "y" + std::to_string(i));
    graph.message(kOutput, Message().text(1, "y" + std::to_string(i)));
  }
  node.text(4, one.op).text(7, one.domain);
  for (const Message& attribute : one.attributes) node.message(5, attribute);
  Message bytes = model_of(graph.message(kNode, node), one.opset);
  bytes.message(8, Message().text(1, "com.microsoft").integer(2, 1));
  SHOAL_ASSIGN(auto model, parse(bytes));
  SHOAL_ASSIGN(Bound bound, onnx::bind(model, {{"x0", {one.inputs[0].type(), {}}}}));
  SHOAL_TRY(verify(bound.graph));
  SHOAL_CHECK(bound.rest == nullptr);
  return evaluate(bound.graph, {one.inputs[0]});
}

inline Tensor count(const Shape& shape, float first = 0) {
  Tensor tensor({DType::kF32, shape});
  std::iota(tensor.data<float>().begin(), tensor.data<float>().end(), first);
  return tensor;
}
inline Tensor i64(std::vector<int64_t> values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())},
                             std::span<const int64_t>(values));
}
inline Message floats(std::string_view name, std::vector<float> values) {
  Message attribute;
  attribute.text(1, name);
  for (float value : values) attribute.real(7, value);
  return attribute.integer(20, 6);
}
inline Message text(std::string_view name, std::string_view value) {
  return Message().text(1, name).text(4, value).integer(20, 3);
}

// "2x2: 1 2 3 4", or the error.
inline std::string answer(const Case& one, size_t output = 0) {
  auto result = run(one);
  if (!result.ok()) return std::string(result.status().message());
  const Tensor& y = (*result)[output];
  std::string text;
  for (int64_t d : y.shape()) text += (text.empty() ? "" : "x") + std::to_string(d);
  text += ":";
  visit<Types<float, Half, int64_t, uint8_t, int8_t, bool>>(y.dtype(), [&]<class T>() {
    for (T element : y.data<T>()) {
      std::string number = std::to_string(static_cast<double>(element));
      number.erase(number.find_last_not_of('0') + 1);
      if (number.back() == '.') number.pop_back();
      text += " " + number;
    }
  });
  return text;
}

}  // namespace shoal::onnx::testing
