#include "shoal/model/onnx/bind/bind.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "shoal/model/onnx/program/encode_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;
using Tensors = std::map<std::string, Tensor>;

Known f32(Shape shape) { return {{DType::kF32, shape}, {}}; }

Message relu_model() {
  return model_of(graph({{kInput, value_info("x", kFloat, {"n", "3"})},
                         {kInput, value_info("z", kFloat, {"n", "n"})},
                         {kOutput, value_info("y", kFloat, {"n", "3"})},
                         {kNode, node("Relu", {"x"}, {"y"}, {}, "relu")}}));
}

// The loop that bind.h shows. Also says how many stages it took.
Result<std::pair<Tensors, size_t>> run(const Message& bytes, Tensors live,
                                       const std::set<std::string>& known_inputs = {}) {
  SHOAL_ASSIGN(auto model, parse(bytes));
  KnownValues known;
  for (const auto& [name, tensor] : live) {
    known[name] = {tensor.type(), {}};
    if (known_inputs.contains(name)) known[name].value = tensor;
  }
  SHOAL_ASSIGN(Bound stage, onnx::bind(model, known));
  for (size_t stages = 1;; ++stages) {
    std::vector<Tensor> inputs;
    for (ValueId id : stage.graph.inputs()) inputs.push_back(live.at(stage.graph[id].name));
    const std::vector<Tensor> outputs = evaluate(stage.graph, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) live[stage.outputs[i]] = outputs[i];
    if (!stage.rest) return std::pair(live, stages);
    known.clear();
    for (const std::string& name : stage.rest->reads()) known[name] = {live.at(name).type(), {}};
    for (const std::string& name : stage.wanted) known.at(name).value = live.at(name);
    SHOAL_ASSIGN(stage, onnx::bind(stage.rest, known));
  }
}

TEST(Bind, MakesAGraphWithConcreteTypes) {
  auto model = parse(relu_model());
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto bound = onnx::bind(*model, {{"x", f32({2, 3})}, {"z", f32({2, 2})}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(bound->rest, nullptr);
  EXPECT_EQ(bound->outputs, std::vector<std::string>{"y"});
  const Graph& graph = bound->graph;
  ASSERT_EQ(graph.nodes().size(), 1u);
  EXPECT_EQ(graph.nodes()[0].name, "relu");
  EXPECT_EQ(graph[graph.outputs()[0]].type, (TensorType{DType::kF32, {2, 3}}));
  EXPECT_EQ(graph[graph.inputs()[0]].name, "x");
}

TEST(Bind, RefusesInputsThatDoNotFitTheModel) {
  auto model = parse(relu_model());
  ASSERT_TRUE(model.ok());
  auto error = [&](KnownValues inputs) {
    return std::string(onnx::bind(*model, inputs).status().message());
  };
  EXPECT_EQ(error({{"x", f32({2, 3})}}), "the input z of type f32[n,n] is missing");
  EXPECT_EQ(error({{"x", f32({2, 4})}, {"z", f32({2, 2})}}),
            "input x: dimension 1: has size 4, the model says 3");
  EXPECT_EQ(error({{"x", f32({3})}, {"z", f32({2, 2})}}).substr(0, 17), "input x: is f32[3");
  EXPECT_EQ(error({{"x", f32({2, 3})}, {"z", f32({2, 2})}, {"w", f32({1})}}),
            "the model has no input w");
}

TEST(Bind, LetsAnInputNobodyReadsHaveAnyShape) {
  auto model = parse(relu_model());
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(onnx::bind(*model, {{"x", f32({2, 3})}, {"z", f32({4})}}).ok());
}

TEST(Bind, LeavesOpenDimensionsToTheCaller) {
  auto model = parse(relu_model());
  ASSERT_TRUE(model.ok());
  auto known = declared_inputs(**model, 5);
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->at("z").type, (TensorType{DType::kF32, {5, 5}}));
}

TEST(Bind, SaysAtWhichNodeATypeIsWrong) {
  auto model = parse(model_of(graph({{kInput, value_info("x", kFloat, {"2"})},
                                     {kInput, value_info("z", kFloat, {"3"})},
                                     {kOutput, value_info("y", kFloat, {})},
                                     {kNode, node("Add", {"x", "z"}, {"y"}, {}, "sum")}})));
  ASSERT_TRUE(model.ok());
  const Status status = onnx::bind(*model, {{"x", f32({2})}, {"z", f32({3})}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, 5), "sum: ");
}

// y = Reshape(x, Concat(Gather(Shape(x), 0), [-1])): what exporters write for a Flatten.
TEST(Bind, FoldsShapeArithmeticAway) {
  auto model = parse(
      model_of(graph({{kInput, value_info("x", kFloat, {"n", "3", "4"})},
                      {kInitializer, tensor<int64_t>("zero", kInt64, {1}, {0})},
                      {kInitializer, tensor<int64_t>("minus", kInt64, {1}, {-1})},
                      {kOutput, value_info("y", kFloat, {})},
                      {kNode, node("Shape", {"x"}, {"s"})},
                      {kNode, node("Gather", {"s", "zero"}, {"n0"})},
                      {kNode, node("Concat", {"n0", "minus"}, {"target"}, {integer("axis", 0)})},
                      {kNode, node("Reshape", {"x", "target"}, {"y"})}})));
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto bound = onnx::bind(*model, {{"x", f32({2, 3, 4})}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  ASSERT_EQ(bound->graph.nodes().size(), 1u);
  EXPECT_EQ(bound->graph[bound->graph.outputs()[0]].type.shape, (Shape{2, 12}));
  EXPECT_TRUE(verify(bound->graph).ok());
}

Message if_model(bool constant_condition) {
  const Message then_graph = graph(
      {{kOutput, value_info("t", kFloat, {})}, {kNode, node("Relu", {"x"}, {"t"}, {}, "relu")}});
  const Message else_graph = graph(
      {{kOutput, value_info("e", kFloat, {})}, {kNode, node("Neg", {"x"}, {"e"}, {}, "neg")}});
  Message graph;
  graph.message(kInput, value_info("x", kFloat, {"2"}));
  if (constant_condition) {
    graph.message(kInitializer, tensor<uint8_t>("c", kBool, {}, {0}));
  } else {
    graph.message(kNode, node("ReduceSum", {"x"}, {"sum"}, {integer("keepdims", 0)}));
    graph.message(kInitializer, tensor<float>("zero", kFloat, {}, {0}));
    graph.message(kNode, node("Greater", {"sum", "zero"}, {"c"}));
  }
  graph.message(kNode, node("If", {"c"}, {"m"},
                            {graph_attribute("then_branch", then_graph),
                             graph_attribute("else_branch", else_graph)}));
  graph.message(kNode, node("Add", {"m", "x"}, {"y"}));
  graph.message(kOutput, value_info("y", kFloat, {"2"}));
  return model_of(graph);
}

TEST(Bind, PicksTheBranchOfAConstantCondition) {
  auto model = parse(if_model(true));
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto bound = onnx::bind(*model, {{"x", f32({2})}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(bound->rest, nullptr);
  ASSERT_EQ(bound->graph.nodes().size(), 2u);
  EXPECT_EQ(bound->graph.nodes()[0].name, "neg");
}

TEST(Bind, CutsTheModelAtAnIfOnComputedData) {
  auto positive = run(if_model(false), {{"x", Tensor::of<float>({2}, {3, -1})}});
  ASSERT_TRUE(positive.ok()) << positive.status().message();
  EXPECT_EQ(positive->second, 2u);
  EXPECT_EQ(positive->first.at("y").data<float>()[0], 6);
  EXPECT_EQ(positive->first.at("y").data<float>()[1], -1);
  auto negative = run(if_model(false), {{"x", Tensor::of<float>({2}, {-3, 1})}});
  ASSERT_TRUE(negative.ok());
  EXPECT_EQ(negative->first.at("y").data<float>()[0], 0);
}

Message reshape_model() {
  return model_of(graph({{kInput, value_info("x", kFloat, {"6"})},
                         {kInput, value_info("s", kInt64, {"2"})},
                         {kOutput, value_info("y", kFloat, {})},
                         {kOutput, value_info("early", kFloat, {})},
                         {kNode, node("Neg", {"x"}, {"early"})},
                         {kNode, node("Reshape", {"early", "s"}, {"r"}, {}, "reshape")},
                         {kNode, node("Relu", {"r"}, {"y"})}}));
}

TEST(Bind, WantsTheElementsOfAnInputThatIsAShape) {
  auto model = parse(reshape_model());
  ASSERT_TRUE(model.ok());
  auto bound = onnx::bind(*model, {{"x", f32({6})}, {"s", {{DType::kI64, {2}}, {}}}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(bound->wanted, std::vector<std::string>{"s"});
  EXPECT_EQ(bound->outputs, std::vector<std::string>{"early"});
  ASSERT_NE(bound->rest, nullptr);
  EXPECT_EQ(bound->rest->reads(), (std::vector<std::string>{"early", "s"}));
  EXPECT_EQ(onnx::bind(bound->rest, {{"early", f32({6})}, {"s", {{DType::kI64, {2}}, {}}}})
                .status()
                .message(),
            "the elements of s are missing");
}

TEST(Bind, AnswersInStagesOrAtOnceWhereTheShapeIsGiven) {
  const Tensors inputs = {{"x", Tensor::of<float>({6}, {1, -2, 3, -4, 5, -6})},
                          {"s", Tensor::of<int64_t>({2}, {2, 3})}};
  auto staged = run(reshape_model(), inputs);
  ASSERT_TRUE(staged.ok()) << staged.status().message();
  EXPECT_EQ(staged->second, 2u);
  EXPECT_EQ(staged->first.at("y").shape(), (Shape{2, 3}));
  auto at_once = run(reshape_model(), inputs, {"s"});
  ASSERT_TRUE(at_once.ok()) << at_once.status().message();
  EXPECT_EQ(at_once->second, 1u);
  EXPECT_EQ(at_once->first.at("y").data<float>()[1], 2);
}

// Every stage needs what the one before computed: NonZero twice, and a shape from its result.
TEST(Bind, CutsTheModelAsOftenAsTheDataDemands) {
  const Message bytes = model_of(graph({{kInput, value_info("x", kFloat, {"4"})},
                                        {kOutput, value_info("y", kInt64, {})},
                                        {kOutput, value_info("x", kFloat, {"4"})},
                                        {kNode, node("NonZero", {"x"}, {"n"})},
                                        {kNode, node("Size", {"n"}, {"count"})},
                                        {kNode, node("Add", {"n", "count"}, {"m"})},
                                        {kNode, node("Mul", {"m", "m"}, {"y"})}}));
  auto answer = run(bytes, {{"x", Tensor::of<float>({4}, {0, 5, 0, 7})}});
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->first.at("y").shape(), (Shape{1, 2}));
  EXPECT_EQ(answer->first.at("y").data<int64_t>()[0], 9);
  EXPECT_EQ(answer->first.at("y").data<int64_t>()[1], 25);
}

TEST(Bind, LetsACallerOverrideADefault) {
  const Message bytes = model_of(graph({{kInput, value_info("x", kFloat, {"2"})},
                                        {kInput, value_info("w", kFloat, {"2"})},
                                        {kInitializer, tensor<float>("w", kFloat, {2}, {10, 20})},
                                        {kOutput, value_info("y", kFloat, {"2"})},
                                        {kNode, node("Add", {"x", "w"}, {"y"})}}));
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  auto without = run(bytes, {{"x", x}});
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_EQ(without->first.at("y").data<float>()[1], 22);
  auto with = run(bytes, {{"x", x}, {"w", Tensor::of<float>({2}, {0, 0})}});
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(with->first.at("y").data<float>()[1], 2);
}

TEST(Bind, NamesEveryOutputThatIsOneInitializer) {
  const Message bytes = model_of(graph({{kInitializer, tensor<float>("w", kFloat, {2}, {1, 2})},
                                        {kOutput, value_info("a", kFloat, {"2"})},
                                        {kOutput, value_info("b", kFloat, {"2"})},
                                        {kOutput, value_info("w", kFloat, {"2"})},
                                        {kNode, node("Identity", {"w"}, {"a"})},
                                        {kNode, node("Identity", {"w"}, {"b"})}}));
  auto answers = run(bytes, {});
  ASSERT_TRUE(answers.ok()) << answers.status().message();
  for (const char* name : {"a", "b", "w"}) EXPECT_EQ(answers->first.at(name).data<float>()[1], 2);
}

TEST(Bind, RefusesAnOutputOfAnotherTypeThanDeclared) {
  auto model = parse(model_of(graph({{kInput, value_info("x", kInt64, {"2"})},
                                     {kOutput, value_info("y", kFloat, {"2"})},
                                     {kNode, node("Neg", {"x"}, {"y"})}})));
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(onnx::bind(*model, {{"x", {{DType::kI64, {2}}, {}}}}).status().message(),
            "output y is declared as f32[2], but is i64[2]");
}

// Neither time nor memory may grow with the square of a model's length.
TEST(Bind, TakesLongChains) {
  Message graph;
  graph.message(kInput, value_info("v0", kFloat, {"2"}));
  constexpr int kLength = 100'000;
  for (int i = 0; i < kLength; ++i) {
    const std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
    graph.message(kNode, node("Identity", {from}, {to}));
  }
  graph.message(kOutput, value_info("v" + std::to_string(kLength), kFloat, {"2"}));
  auto model = parse(model_of(graph));
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto bound = onnx::bind(*model, {{"v0", f32({2})}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(bound->graph.nodes().size(), size_t{kLength});
}

}  // namespace
}  // namespace shoal::onnx
