// QuantizeLinear and DequantizeLinear with blocks and with types that are held in wider ones.
#include <gtest/gtest.h>

#include "shoal/model/onnx/bind/node_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;

constexpr int64_t kE4M3FN = 17, kInt4 = 22;

TEST(NormalizeQuantize, DividesInBlocks) {
  const Tensor scales = Tensor::of<float>({1, 2}, {1, 10});
  Case one{"QuantizeLinear", 21, {count({1, 3}, 10), scales}, {integer("block_size", 2)}};
  EXPECT_EQ(answer(one), "1x3: 10 11 1");
  one.inputs.push_back(Tensor::of<uint8_t>({1, 2}, {0, 100}));
  EXPECT_EQ(answer(one), "1x3: 10 11 101");
  one.attributes = {integer("block_size", 3)};
  EXPECT_EQ(answer(one),
            "QuantizeLinear y0: the scale or zero point has shape [1,2], should have [1,1]");
  one.attributes = {integer("block_size", -1)};
  EXPECT_EQ(answer(one), "QuantizeLinear y0: block_size is out of range");
}

TEST(NormalizeQuantize, MultipliesInBlocks) {
  const Tensor x = Tensor::of<uint8_t>({3, 1}, {10, 20, 30}),
               zero = Tensor::of<uint8_t>({2, 1}, {0, 5});
  Case one{"DequantizeLinear", 21, {x, Tensor::of<float>({2, 1}, {1, 10}), zero}};
  one.attributes = {integer("block_size", 2), integer("axis", 0)};
  EXPECT_EQ(answer(one), "3x1: 10 20 250");
}

TEST(NormalizeQuantize, SaturatesToNarrowTypes) {
  Case one{"QuantizeLinear", 21, {count({3}, -9), Tensor::of<float>({}, {1})}};
  one.attributes = {integer("output_dtype", kInt4)};
  EXPECT_EQ(answer(one), "3: -8 -8 -7");
  one.inputs[0] = Tensor::of<float>({2}, {1.07f, 1000});
  one.attributes = {integer("output_dtype", kE4M3FN)};
  EXPECT_EQ(answer(one), "2: 1.125 448");
}

TEST(NormalizeQuantize, NamesTheTypeOnce) {
  Case one{"QuantizeLinear",
           21,
           {count({3}), Tensor::of<float>({}, {1}), Tensor::of<uint8_t>({}, {0})},
           {integer("output_dtype", kInt4)}};
  EXPECT_EQ(answer(one), "QuantizeLinear y0: output_dtype and the zero point do not agree");
}

TEST(NormalizeQuantize, GivesTheTypeAskedFor) {
  const auto y = run({"DequantizeLinear",
                      23,
                      {Tensor::of<uint8_t>({1}, {3}), Tensor::of<float>({}, {2})},
                      {integer("output_dtype", onnx_type(DType::kF16))}});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dtype(), DType::kF16);
}

// y = op(w) or op(x, w), where w is of a narrow type.
Result<std::vector<Tensor>> run_on(const Message& w, const Message& node) {
  const Message g = graph({{kNode, node},
                           {kInitializer, w},
                           {kInput, value_info("x", kFloat, {"2"})},
                           {kOutput, Message().text(1, "y")}});
  SHOAL_ASSIGN(auto model, parse(model_of(g, 25)));
  SHOAL_ASSIGN(Bound bound, onnx::bind(model, {{"x", {{DType::kF32, {2}}, {}}}}));
  return evaluate(bound.graph, {Tensor::of<float>({2}, {-9, 3})});
}

TEST(NarrowTypes, AreReadFromPackedBytes) {
  const Message w = tensor<uint8_t>("w", kInt4, {3}, {0x7f, 0x08});  // -1, 7, -8
  const auto y = run_on(w, node("Cast", {"w"}, {"y"}, {integer("to", kFloat)}));
  ASSERT_TRUE(y.ok()) << y.status().message();
  const auto elements = (*y)[0].data<float>();
  EXPECT_EQ(std::vector<float>(elements.begin(), elements.end()), (std::vector<float>{-1, 7, -8}));
}

TEST(NarrowTypes, AreReadFromIntegers) {
  Message w = Message().integer(1, 2).integer(2, kE4M3FN).text(8, "w");
  w.integer(5, 0x38).integer(5, 0xc0);  // 1 and -2
  const auto y = run_on(w, node("Cast", {"w"}, {"y"}, {integer("to", kFloat)}));
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].data<float>()[0], 1);
  EXPECT_EQ((*y)[0].data<float>()[1], -2);
}

TEST(NarrowTypes, MustFillTheirShape) {
  const Message cast = node("Cast", {"w"}, {"y"}, {integer("to", kFloat)});
  EXPECT_EQ(run_on(tensor<uint8_t>("w", kInt4, {5}, {1, 2}), cast).status().message(),
            "w: has 2 bytes, its type i8[5] needs 3");
  EXPECT_EQ(
      run_on(Message().integer(1, 2).integer(2, kE4M3FN).text(8, "w"), cast).status().message(),
      "w: its elements are missing, or stored as another type");
}

TEST(NarrowTypes, AreKnownToTheOperatorsThatAskForThem) {
  const Message w = tensor<uint8_t>("w", kInt4, {1}, {1});
  const auto y = run_on(w, node("CastLike", {"x", "w"}, {"y"}));
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].data<int8_t>()[0], 7);  // the low bits of -9
}

TEST(NarrowTypes, HaveNoBitsHere) {
  Case one{"BitCast", 26, {Tensor::of<uint8_t>({1}, {1})}, {integer("to", kInt4)}};
  EXPECT_EQ(answer(one), "BitCast y0: bits of elements narrower than a byte, or 8-bit floats");
}

}  // namespace
}  // namespace shoal::onnx
