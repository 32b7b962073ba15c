#include <gtest/gtest.h>

#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

TEST(FusedConv, AddsTheResidualBeforeItActivates) {
  const Tensor x = floats({1, 1, 3}, {1, 2, 3}), w = floats({1, 1, 1}, {1});
  const auto y = evaluate(fused_conv, {x, w, Tensor(), floats({1, 1, 3}, {-3, -1, 1})},
                          {{"activation", std::string("Relu")}});
  expect_output(y, floats({1, 1, 3}, {0, 1, 4}));
}

TEST(FusedConv, RefusesAResidualOfAnotherShapeAndAnUnknownActivation) {
  const Tensor x({DType::kF32, {1, 1, 3}}), w({DType::kF32, {2, 1, 1}});
  expect_refused(evaluate(fused_conv, {x, w, Tensor(), x}), "the residual is f32[1,1,3]");
  expect_refused(evaluate(fused_conv, {x, w}, {{"activation", std::string("Softmax")}}),
                 "activation Softmax");
}

TEST(FusedGemm, TakesFloatsOnly) {
  const Tensor a({DType::kI32, {2, 2}});
  expect_refused(evaluate(fused_gemm, {a, a}), "i32");
}

TEST(FusedMatMul, AddsTheBiasToEveryRow) {
  const Tensor a = floats({2, 1, 1}, {1, 2}), b = floats({1, 2}, {1, 10});
  const auto y =
      evaluate(fused_mat_mul, {a, b, floats({2}, {-2, 0}), floats({2, 1, 2}, {0, 1, 2, 3})},
               {{"activation", std::string("Relu")}});
  expect_output(y, floats({2, 1, 2}, {0, 11, 2, 23}));
}

TEST(FusedMatMul, RefusesABiasThatIsNoRow) {
  const Tensor a({DType::kF32, {2, 1, 1}}), b({DType::kF32, {1, 2}}), v({DType::kF32, {1}});
  expect_refused(evaluate(fused_mat_mul, {a, b, v}), "the bias is f32[1], should be f32[2]");
  expect_refused(evaluate(fused_mat_mul, {v, v, v}), "takes no bias");
}

TEST(Activation, IsReadAsItWasWritten) {
  const Activation clip6{&clip, 0, 6};
  Node node;
  set_activation(node.attributes, clip6);
  EXPECT_EQ(activation_of(node), clip6);
  EXPECT_EQ(activation_of(Node{}), Activation{});
}

TEST(Activation, TakesADefaultFromTheOperatorOfItsName) {
  Node node;
  node.attributes["activation"] = std::string("HardSigmoid");
  EXPECT_EQ(activation_of(node), (Activation{&hard_sigmoid, 0.2f, 0.5f}));
}

TEST(Activation, IsRecognisedInClipOnlyIfTheBoundsAreConstant) {
  const Node node{&clip, {}, {}, {}, {}};
  const Tensor zero = floats({}, {0});
  const TensorType scalar{DType::kF32, {}};
  const Operand x{true, {DType::kF32, {4}}};
  const std::vector<Operand> constant{x, {true, scalar, &zero}};
  const auto found = as_activation(node, constant);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)(-1.0f), 0);
  EXPECT_EQ((*found)(1e30f), 1e30f);
  EXPECT_FALSE(as_activation(node, std::vector<Operand>{x, {true, scalar}}));
}

TEST(Activation, IsNotRecognisedInOtherOperators) {
  const std::vector<Operand> x{{true, {DType::kF32, {4}}}};
  EXPECT_FALSE(as_activation(Node{&softmax, {}, {}, {}, {}}, x));
  EXPECT_FALSE(as_activation(Node{&add, {}, {}, {}, {}}, x));
  EXPECT_FALSE(as_activation(Node{&is_nan, {}, {}, {}, {}}, x));
}

TEST(Activation, ReadsTextAsANumber) {
  const std::vector<Operand> x{{true, {DType::kF32, {4}}}};
  EXPECT_EQ(as_activation(Node{&gelu, {}, {}, {}, {}}, x), (Activation{&gelu, 0, 0}));
  const Attributes tanh_form{{"approximate", std::string("tanh")}};
  EXPECT_EQ(as_activation(Node{&gelu, {}, {}, tanh_form, {}}, x), (Activation{&gelu, 1, 0}));
}

TEST(Activation, KeepsWhatIsFixed) {
  Node node;
  node.attributes = {{"activation", std::string("Relu")}, {"activation_alpha", -1.0f}};
  EXPECT_EQ(activation_of(node)(-2.0f), 0);
  EXPECT_EQ(activation_of(node).alpha, 0);
}

// Elements that only fill up a block would become infinite.
TEST(Activation, IsNotFusedIfItMayBeInfinite) {
  Node node;
  node.attributes["activation"] = std::string("Reciprocal");
  EXPECT_EQ(require_activation(node).status().message(),
            "activation Reciprocal is not one that can be fused");
}

}  // namespace
}  // namespace shoal::ops
