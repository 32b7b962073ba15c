#include "shoal/model/onnx/export/expand.h"

#include <gtest/gtest.h>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"

namespace shoal::onnx {
namespace {

Graph parse(std::string_view text) {
  auto graph = parse_text(text, ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

std::string expanded(const Graph& graph, std::vector<std::string> names = {}) {
  auto result = expand_own_operators(graph, names);
  if (!result.ok()) return std::string(result.status().message());
  EXPECT_TRUE(verify(*result).ok()) << verify(*result).message();
  return to_text(*result);
}

std::string expanded(std::string_view text, std::vector<std::string> names = {}) {
  return expanded(parse(text), std::move(names));
}

TEST(Expand, KeepsWhatIsOnnxAlready) {
  const std::string text =
      "input x f32[2,3]\nconst w f32[3,1] = [1,2,3]\ny = Gemm(x, w) alpha=0.5 @layer\noutput y\n";
  EXPECT_EQ(expanded(text), text);
}

TEST(Expand, NamesTheStepsAfterTheValueTheyLeadTo) {
  EXPECT_EQ(expanded("input x f32[4]\ny = Mish(x)\noutput y\n"),
            "input x f32[4]\n"
            "y/Softplus = Softplus(x)\n"
            "y/Tanh = Tanh(y/Softplus)\n"
            "y = Mul(x, y/Tanh)\n"
            "output y\n");
}

TEST(Expand, AvoidsNamesOfValuesThatAreYetToCome) {
  EXPECT_EQ(expanded("input x f32[4]\ny = Mish(x)\ny/Tanh = Relu(y)\noutput y/Tanh\n"),
            "input x f32[4]\n"
            "y/Softplus = Softplus(x)\n"
            "y/Tanh_0 = Tanh(y/Softplus)\n"
            "y = Mul(x, y/Tanh_0)\n"
            "y/Tanh = Relu(y)\n"
            "output y/Tanh\n");
}

TEST(Expand, LeavesOutConstantsNobodyReads) {
  EXPECT_EQ(expanded("input x f32[1]\nconst w f32[1] = [1]\ny = Relu(x)\noutput y\n"),
            "input x f32[1]\ny = Relu(x)\noutput y\n");
}

TEST(Expand, PutsAnIdentityWhereNoNodeComputesAnOutput) {
  EXPECT_EQ(expanded("input x f32[1]\nconst w f32[1] = [1]\ny = Relu(x)\n"
                     "output x\noutput w\noutput y\noutput y\n"),
            "input x f32[1]\n"
            "const w_0 f32[1] = [1]\n"
            "y = Relu(x)\n"
            "x_output = Identity(x)\n"
            "w = Identity(w_0)\n"
            "y_output = Identity(y)\n"
            "output x_output\noutput w\noutput y\noutput y_output\n");
}

TEST(Expand, GivesOutputsTheNamesAskedFor) {
  EXPECT_EQ(expanded("input x f32[1]\nanswer = Relu(x)\ny = Tanh(answer)\noutput y\n", {"answer"}),
            "input x f32[1]\n"
            "answer_0 = Relu(x)\n"
            "answer = Tanh(answer_0)\n"
            "output answer\n");
}

TEST(Expand, GivesEveryOutputThatIsOneConstantItsName) {
  EXPECT_EQ(expanded("const w f32[1] = [1]\noutput w\noutput w\n", {"a", "b"}),
            "const w f32[1] = [1]\na = Identity(w)\nb = Identity(w)\noutput a\noutput b\n");
}

// An operator of ours that means one of ours, and one whose outputs are its input, twice.
Result<std::vector<ValueId>> expand_outer(const Node&, std::span<const ValueId> inputs,
                                          Graph& graph) {
  SHOAL_ASSIGN(const ValueId y, graph.add(ops::mish, {inputs[0]}));
  return std::vector{y};
}
Result<std::vector<ValueId>> expand_echo(const Node&, std::span<const ValueId> inputs, Graph&) {
  return std::vector{inputs[0], inputs[0]};
}
Result<std::vector<TensorType>> infer_same(const Node& node, std::span<const Operand> inputs) {
  return std::vector(node.outputs.size(), inputs[0].type);
}
const Operator kOuter = {.name = "Outer", .infer = infer_same, .expand = expand_outer};
const Operator kEcho = {
    .name = "Echo", .max_outputs = 2, .infer = infer_same, .expand = expand_echo};

TEST(Expand, GoesOnUntilAllIsOnnx) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2}});
  graph.mark_output(*graph.add(kOuter, {x}, {}, "y"));
  EXPECT_EQ(expanded(graph), expanded("input x f32[2]\ny = Mish(x)\noutput y\n"));
}

TEST(Expand, CopiesAnInputThatIsReturnedAsItIs) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2}});
  auto outputs = graph.add_node(kEcho, {x}, {}, {"a", "b"});
  ASSERT_TRUE(outputs.ok());
  for (ValueId id : *outputs) graph.mark_output(id);
  EXPECT_EQ(expanded(graph),
            "input x f32[2]\na = Identity(x)\nb = Identity(x)\noutput a\noutput b\n");
}

}  // namespace
}  // namespace shoal::onnx
