#include "shoal/onnx/bind.h"

#include <gtest/gtest.h>

#include "shoal/onnx/encode_test.h"

namespace shoal::onnx {
namespace {

using namespace testing;

constexpr int kF32 = 1, kI64 = 7;

Message relu_model() {
  return model(graph({{kInput, value_info("x", kF32, {"n", "3"})},
                      {kOutput, value_info("y", kF32, {"n", "3"})},
                      {kNode, node("Relu", {"x"}, {"y"}, {}, "relu")}}));
}

TEST(Bind, MakesAGraphWithConcreteTypes) {
  auto model = parse(relu_model());
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto bound = bind(*model, {{"x", {{DType::kF32, {2, 3}}, {}}}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(bound->rest, nullptr);
  EXPECT_EQ(bound->outputs, std::vector<std::string>{"y"});
  const Graph& graph = bound->graph;
  ASSERT_EQ(graph.nodes().size(), 1u);
  EXPECT_EQ(graph[graph.outputs()[0]].type, (TensorType{DType::kF32, {2, 3}}));
  EXPECT_EQ(graph[graph.inputs()[0]].name, "x");
}

TEST(Bind, RefusesInputsThatDoNotFitTheModel) {
  auto model = parse(relu_model());
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(bind(*model, {}).status().message(), "the input x of type f32[n,3] is missing");
  EXPECT_EQ(bind(*model, {{"x", {{DType::kF32, {2, 4}}, {}}}}).status().message(),
            "input x: dimension 1: has size 4, the model says 3");
}

}  // namespace
}  // namespace shoal::onnx
