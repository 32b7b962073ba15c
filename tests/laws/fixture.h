// Shared by the tests of laws: a case as a node, its answer by the reference, and the comparison.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "laws.h"

namespace shoal::laws {

constexpr int kCasesPerOperator = 20;

inline Node node_of(const Operator& op, const Case& c) {
  Node node{&op, {}, {}, c.attributes, {}};
  node.inputs.assign(c.inputs.size(), ValueId{0});
  node.outputs.assign(c.outputs, ValueId{0});
  return node;
}

inline std::vector<Operand> operands_of(std::span<const Tensor> inputs) {
  std::vector<Operand> operands;
  for (const Tensor& t : inputs)
    operands.push_back({t.defined(), t.type(), t.defined() ? &t : nullptr});
  return operands;
}

inline std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor> inputs) {
  auto types = node.op->infer(node, operands_of(inputs));
  if (!types.ok()) {
    ADD_FAILURE() << node.op->name << ": " << types.status().message();
    return {};
  }
  std::vector<Tensor> outputs;
  for (const TensorType& type : *types) outputs.emplace_back(type);
  node.op->reference(node, inputs, outputs);
  return outputs;
}

// Float elements within `tolerance` of the largest, others equal.
inline void expect_same(const Tensor& got, const Tensor& want, float tolerance) {
  ASSERT_EQ(got.type(), want.type());
  if (!Floats::contains(got.dtype())) {
    EXPECT_TRUE(std::ranges::equal(got.bytes(), want.bytes()));
    return;
  }
  visit<Floats>(got.dtype(), [&]<class T>() {
    float top = 1;
    for (T x : want.data<T>()) {
      if (std::isfinite(static_cast<float>(x)))
        top = std::max(top, std::abs(static_cast<float>(x)));
    }
    for (size_t k = 0; k < got.data<T>().size(); ++k) {
      const auto a = static_cast<float>(got.data<T>()[k]),
                 b = static_cast<float>(want.data<T>()[k]);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      ASSERT_NEAR(a, b, tolerance * top) << "element " << k;
    }
  });
}

class Laws : public testing::TestWithParam<Source> {
 protected:
  template <class F>
  void for_each_case(F f) {
    Rng rng(7);
    for (int i = 0; i < kCasesPerOperator; ++i) {
      const Case c = GetParam().draw(rng);
      SCOPED_TRACE("case " + std::to_string(i) + ": " + describe(c));
      f(c);
      if (HasFatalFailure()) return;
    }
  }
  const Operator& op() const { return *GetParam().op; }
};

inline std::string name_case(const testing::TestParamInfo<Source>& param) {
  return std::string(param.param.op->name) + "_" + std::to_string(param.index);
}

// Runs the tests of the suite on every operator for which the claim is true.
#define SHOAL_LAW(suite, claim)                                                                   \
  INSTANTIATE_TEST_SUITE_P(Law, suite,                                                            \
                           testing::ValuesIn(claiming([](const Operator& op) { return claim; })), \
                           name_case)

}  // namespace shoal::laws
