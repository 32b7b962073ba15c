#include <gtest/gtest.h>

#include "shoal/model/onnx/export/expand.h"
#include "shoal/model/ops/ops.h"

namespace shoal::onnx {
namespace {

Result<Attributes> kept(const Operator& op, Attributes attributes, size_t inputs = 1) {
  return opset_17_attributes({&op, std::vector<ValueId>(inputs), {}, std::move(attributes), {}});
}

TEST(Opset, LacksOnlyTheseOfOurOperators) {
  std::vector<std::string_view> lacking;
  for (const Operator* op : ops::all()) {
    if (op->expand == nullptr && !kept(*op, {}, op->min_inputs).ok()) lacking.push_back(op->name);
  }
  EXPECT_EQ(lacking, (std::vector<std::string_view>{
                         "BitCast", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Col2Im",
                         "CumProd", "DeformConv", "LinearAttention", "NarrowCast"}));
}

TEST(Opset, KeepsWhatItKnows) {
  const auto attributes = kept(ops::resize, {{"mode", std::string("linear")}});
  ASSERT_TRUE(attributes.ok());
  EXPECT_EQ(attributes->size(), 1u);
}

TEST(Opset, DropsNewAttributesThatSayNothing) {
  const auto attributes = kept(ops::resize, {{"antialias", int64_t{0}}});
  ASSERT_TRUE(attributes.ok());
  EXPECT_TRUE(attributes->empty());
  EXPECT_TRUE(kept(ops::average_pool, {{"dilations", std::vector<int64_t>{1, 1}}}).ok());
}

TEST(Opset, RefusesNewAttributesThatSaySomething) {
  EXPECT_EQ(kept(ops::resize, {{"antialias", int64_t{1}}}).status().code(), Code::kUnsupported);
  EXPECT_FALSE(kept(ops::average_pool, {{"dilations", std::vector<int64_t>{1, 2}}}).ok());
}

TEST(Opset, RefusesNewInputsAndValues) {
  EXPECT_TRUE(kept(ops::pad_, {}, 3).ok());
  EXPECT_FALSE(kept(ops::pad_, {}, 4).ok());  // axes
  EXPECT_TRUE(kept(ops::scatter_nd, {{"reduction", std::string("add")}}, 3).ok());
  EXPECT_FALSE(kept(ops::scatter_nd, {{"reduction", std::string("max")}}, 3).ok());
}

}  // namespace
}  // namespace shoal::onnx
