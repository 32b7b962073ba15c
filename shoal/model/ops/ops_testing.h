// Helpers for unit tests of operators: one node on concrete inputs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// The outputs of a node whose inputs are constants; inputs not given are undefined tensors.
inline Result<std::vector<Tensor>> evaluate(const Operator& op, std::vector<Tensor> inputs,
                                            Attributes attributes = {}, size_t outputs = 1) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) {
    ids.push_back(input.defined() ? graph.add_constant("x", input) : kNoValue);
  }
  SHOAL_TRY(
      graph.add_node(op, ids, std::move(attributes), std::vector<std::string>(outputs)).status());
  const Node& node = graph.nodes()[0];
  inputs.resize(node.inputs.size());
  std::vector<Tensor> results;
  for (const TensorType& type : graph.types(node.outputs)) results.emplace_back(type);
  op.reference(node, inputs, results);
  return results;
}

inline Tensor ints(std::vector<int64_t> values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

inline Tensor floats(const Shape& shape, std::vector<float> values) {
  return Tensor::of<float>(shape, values);
}

// 0, 1, 2 and so on, in the given shape.
inline Tensor counting(const Shape& shape) {
  Tensor tensor({DType::kF32, shape});
  float next = 0;
  for (float& x : tensor.data<float>()) x = next++;
  return tensor;
}

inline void expect_equal(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(to_string(got.type()), to_string(want.type()));
  visit<AllTypes>(got.dtype(), [&]<class T>() {
    for (size_t k = 0; k < want.data<T>().size(); ++k) {
      EXPECT_EQ(got.data<T>()[k], want.data<T>()[k]) << "element " << k;
    }
  });
}

inline void expect_output(const Result<std::vector<Tensor>>& got, const Tensor& want) {
  ASSERT_TRUE(got.ok()) << got.status().message();
  expect_equal((*got)[0], want);
}

// `why` is a part of the message.
inline void expect_refused(const Result<std::vector<Tensor>>& got, std::string_view why) {
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.status().message().find(why), std::string_view::npos) << got.status().message();
}

}  // namespace shoal::ops
