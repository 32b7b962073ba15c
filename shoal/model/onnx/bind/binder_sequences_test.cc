// Sequences between operators of one model are gone once it is bound.
#include <gtest/gtest.h>

#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/program/encode_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;

// The answer of these nodes for x, f32[4] = 0 1 2 3, or the error.
std::string answer(std::initializer_list<Message> nodes) {
  Message g = graph({{kInput, value_info("x", kFloat, {"4"})},
                     {kInitializer, tensor<int64_t>("one", kInt64, {}, {1})},
                     {kInitializer, tensor<int64_t>("two", kInt64, {}, {2})},
                     {kInitializer, tensor<int64_t>("ten", kInt64, {}, {10})},
                     {kInitializer, tensor<int64_t>("sizes", kInt64, {2}, {1, 3})},
                     {kOutput, Message().text(1, "y")}});
  for (const Message& node : nodes) g.message(kNode, node);
  auto model = parse(model_of(g));
  if (!model.ok()) return std::string(model.status().message());
  auto bound = bind(*model, {{"x", {{DType::kF32, {4}}, {}}}});
  if (!bound.ok()) return std::string(bound.status().message());
  std::string text;
  const Tensor y = evaluate(bound->graph, {Tensor::of<float>({4}, {0, 1, 2, 3})})[0];
  for (float element : y.data<float>()) {
    text += (text.empty() ? "" : " ") + std::to_string(static_cast<int>(element));
  }
  return text;
}

TEST(Sequences, AreSplitAndRead) {
  EXPECT_EQ(
      answer({node("SplitToSequence", {"x"}, {"s"}), node("SequenceAt", {"s", "two"}, {"y"})}),
      "2");
  EXPECT_EQ(answer({node("SplitToSequence", {"x", "sizes"}, {"s"}),
                    node("SequenceAt", {"s", "one"}, {"y"})}),
            "1 2 3");
  EXPECT_EQ(answer({node("SplitToSequence", {"x", "two"}, {"s"}),
                    node("SequenceAt", {"s", "one"}, {"y"})}),
            "2 3");
}

TEST(Sequences, ArePutTogether) {
  EXPECT_EQ(answer({node("SequenceConstruct", {"x", "x"}, {"s"}),
                    node("ConcatFromSequence", {"s"}, {"y"}, {integer("axis", 0)})}),
            "0 1 2 3 0 1 2 3");
  EXPECT_EQ(answer({node("SequenceConstruct", {"x", "x"}, {"s"}),
                    node("ConcatFromSequence", {"s"}, {"y"},
                         {integer("axis", 1), integer("new_axis", 1)})}),
            "0 0 1 1 2 2 3 3");
}

TEST(Sequences, GrowAndShrink) {
  EXPECT_EQ(
      answer({node("SequenceEmpty", {}, {"e"}), node("Neg", {"x"}, {"n"}),
              node("SequenceInsert", {"e", "x"}, {"a"}), node("SequenceInsert", {"a", "n"}, {"b"}),
              node("Identity", {"b"}, {"c"}), node("SequenceErase", {"c", "one"}, {"d"}),
              node("SequenceAt", {"d", "one"}, {"y"})}),
      "SequenceAt y: there is no such place in the sequence");
  EXPECT_EQ(
      answer({node("SequenceConstruct", {"x", "x"}, {"s"}), node("SequenceLength", {"s"}, {"n"}),
              node("Cast", {"n"}, {"y"}, {integer("to", kFloat)})}),
      "2");
}

TEST(Sequences, AreMapped) {
  const Message body = graph({{kInput, Message().text(1, "element")},
                              {kNode, node("Add", {"element", "x"}, {"sum"})},
                              {kOutput, Message().text(1, "sum")}});
  EXPECT_EQ(answer({node("SplitToSequence", {"x"}, {"s"}),
                    node("SequenceMap", {"s"}, {"t"}, {graph_attribute("body", body)}),
                    node("SequenceAt", {"t", "two"}, {"y"})}),
            "2 3 4 5");
}

TEST(Sequences, AreRefusedWhereATensorIsRead) {
  const Message s = node("SequenceConstruct", {"x"}, {"s"});
  EXPECT_EQ(answer({s, node("Relu", {"s"}, {"y"})}), "Relu y: takes a tensor, not a sequence");
  EXPECT_EQ(answer({s, node("SequenceInsert", {"s", "s"}, {"y"})}),
            "SequenceInsert y: a sequence where a tensor is read");
  EXPECT_EQ(answer({s, node("Identity", {"s"}, {"y"})}), "y: is a sequence, not a tensor");
  EXPECT_EQ(answer({node("SequenceAt", {"x", "one"}, {"y"})}), "SequenceAt y: takes a sequence");
  EXPECT_EQ(answer({s, node("SequenceAt", {"s", "ten"}, {"y"})}),
            "SequenceAt y: there is no such place in the sequence");
}

TEST(Sequences, AreRefusedWhereOnlyARunKnowsThePlace) {
  EXPECT_EQ(answer({node("SequenceConstruct", {"x"}, {"s"}),
                    node("ArgMax", {"x"}, {"place"}, {integer("keepdims", 0)}),
                    node("SequenceAt", {"s", "place"}, {"y"})}),
            "a sequence is read in a way that only a run can know");
}

TEST(Optionals, AreTheTensorTheyHold) {
  EXPECT_EQ(answer({node("Optional", {"x"}, {"o"}), node("OptionalGetElement", {"o"}, {"y"})}),
            "0 1 2 3");
  EXPECT_EQ(answer({node("OptionalHasElement", {"x"}, {"h"}),
                    node("Cast", {"h"}, {"y"}, {integer("to", kFloat)})}),
            "1");
}

}  // namespace
}  // namespace shoal::onnx
