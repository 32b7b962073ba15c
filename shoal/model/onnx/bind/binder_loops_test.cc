// Loop and Scan are unrolled; those whose rounds depend on what they compute are refused.
#include <gtest/gtest.h>

#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/program/encode_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;

// The answer of a model of one input x, f32[3] = 1 2 3, and output y, or the error.
std::string answer(const Message& node, std::initializer_list<Message> constants = {}) {
  Message g = graph(
      {{kNode, node}, {kInput, value_info("x", kFloat, {"3"})}, {kOutput, Message().text(1, "y")}});
  for (const Message& constant : constants) g.message(kInitializer, constant);
  auto model = parse(model_of(g));
  if (!model.ok()) return std::string(model.status().message());
  auto bound = bind(*model, {{"x", {{DType::kF32, {3}}, {}}}});
  if (!bound.ok()) return std::string(bound.status().message());
  if (bound->rest != nullptr) return "waits for " + bound->wanted.at(0);
  std::string text;
  const Tensor y = evaluate(bound->graph, {Tensor::of<float>({3}, {1, 2, 3})})[0];
  for (float element : y.data<float>()) {
    text += (text.empty() ? "" : " ") + std::to_string(static_cast<int>(element));
  }
  return text;
}

Message value(std::string_view name) { return Message().text(1, name); }

// (i, go, sum) -> (go, sum + x, sum): x is of the graph around it.
Message body(std::string_view go_on = "go") {
  return graph({{kInput, value("i")},
                {kInput, value("go")},
                {kInput, value("sum")},
                {kNode, node("Add", {"sum", "x"}, {"next"})},
                {kNode, node("Less", {"i", "last"}, {"not_last"})},
                {kNode, node("Less", {"next", "sum"}, {"shrinks"})},
                {kOutput, value(go_on)},
                {kOutput, value("next")},
                {kOutput, value("sum")}});
}

Message loop(const Message& inside) {
  return node("Loop", {"count", "", "x"}, {"y"}, {graph_attribute("body", inside)});
}

const Message kThree = tensor<int64_t>("count", kInt64, {}, {3});
const Message kLast = tensor<int64_t>("last", kInt64, {}, {1});

TEST(Loop, GoesAsManyRoundsAsItCounts) {
  EXPECT_EQ(answer(loop(body()), {kThree, kLast}), "4 8 12");
}

TEST(Loop, EndsByAConditionThatIsKnown) {
  EXPECT_EQ(answer(loop(body("not_last")), {kThree, kLast}), "3 6 9");
}

TEST(Loop, PutsSlicesTogether) {
  const Message both =
      node("Loop", {"count", "", "x"}, {"", "y"}, {graph_attribute("body", body())});
  EXPECT_EQ(answer(both, {kThree, kLast}), "1 2 3 2 4 6 3 6 9");
}

TEST(Loop, IsRefusedWhereItsRoundsDependOnItself) {
  EXPECT_EQ(answer(loop(body("shrinks")), {kThree, kLast}),
            "Loop y: the rounds of a Loop end by data that the loop computes");
}

TEST(Loop, IsNotUnrolledForever) {
  const Message endless = node("Loop", {"", "", "x"}, {"y"}, {graph_attribute("body", body())});
  EXPECT_EQ(answer(endless, {kLast}), "Loop y: loops are too long to be unrolled");
}

TEST(Loop, RefusesABodyOfAnotherForm) {
  const Message empty = graph({{kOutput, value("x")}});
  EXPECT_EQ(answer(loop(empty), {kThree, kLast}),
            "Loop y: the body does not have the inputs and outputs of its Loop");
  EXPECT_EQ(answer(node("Loop", {"", "", "x"}, {"y"})), "y: Loop has no body");
}

TEST(Loop, WaitsForACountThatIsComputed) {
  const Message g = graph({{kNode, node("ReduceSum", {"x"}, {"sum"}, {integer("keepdims", 0)})},
                           {kNode, node("Cast", {"sum"}, {"count"}, {integer("to", kInt64)})},
                           {kNode, loop(body())},
                           {kInitializer, kLast},
                           {kInput, value_info("x", kFloat, {"3"})},
                           {kOutput, Message().text(1, "y")}});
  const auto model = parse(model_of(g));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto bound = bind(*model, {{"x", {{DType::kF32, {3}}, {}}}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(bound->wanted, std::vector<std::string>{"count"});
}

// (sum, element) -> (sum + element, sum)
Message scan(std::initializer_list<Message> attributes, Names outputs) {
  const Message inside = graph({{kInput, value("sum")},
                                {kInput, value("element")},
                                {kNode, node("Add", {"sum", "element"}, {"next"})},
                                {kOutput, value("next")},
                                {kOutput, value("sum")}});
  Message scan = node("Scan", {"zero", "x"}, outputs, {graph_attribute("body", inside)});
  for (const Message& attribute : attributes) scan.message(5, attribute);
  return scan;
}

const Message kZero = tensor<float>("zero", kFloat, {}, {0});

TEST(Scan, ReadsSliceBySlice) {
  EXPECT_EQ(answer(scan({integer("num_scan_inputs", 1)}, {"y"}), {kZero}), "6");
  EXPECT_EQ(answer(scan({integer("num_scan_inputs", 1)}, {"", "y"}), {kZero}), "0 1 3");
}

TEST(Scan, GoesInEitherDirection) {
  EXPECT_EQ(
      answer(scan({integer("num_scan_inputs", 1), ints("scan_input_directions", {1})}, {"", "y"}),
             {kZero}),
      "0 3 5");
  EXPECT_EQ(
      answer(scan({integer("num_scan_inputs", 1), ints("scan_output_directions", {1})}, {"", "y"}),
             {kZero}),
      "3 1 0");
}

TEST(Scan, RefusesABodyOfAnotherForm) {
  EXPECT_EQ(answer(scan({}, {"y"}), {kZero}), "Scan y: has no scan inputs");
  EXPECT_EQ(answer(scan({integer("num_scan_inputs", 3)}, {"y"}), {kZero}),
            "Scan y: has no scan inputs");
  EXPECT_EQ(answer(scan({integer("num_scan_inputs", 1)}, {"y", "z", "w"}), {kZero}),
            "Scan y: the body does not have the inputs and outputs of its Scan");
}

}  // namespace
}  // namespace shoal::onnx
