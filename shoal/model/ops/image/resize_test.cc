#include <gtest/gtest.h>

#include <limits>

#include "shoal/model/ops/image/resize_axis.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

Result<std::vector<Tensor>> by_scales(const Tensor& x, std::vector<float> scales,
                                      Attributes attributes = {}) {
  const auto n = static_cast<int64_t>(scales.size());
  return evaluate(resize, {x, Tensor(), floats({n}, scales)}, std::move(attributes));
}

Result<std::vector<Tensor>> by_sizes(const Tensor& x, std::vector<int64_t> sizes,
                                     Attributes attributes = {}) {
  return evaluate(resize, {x, Tensor(), Tensor(), ints(sizes)}, std::move(attributes));
}

Attributes linear(Attributes more = {}) {
  more["mode"] = std::string("linear");
  return more;
}

TEST(Resize, RepeatsTheNearestElement) {
  expect_output(by_scales(floats({1, 2}, {1, 2}), {2, 2}),
                floats({2, 4}, {1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST(Resize, InterpolatesLinearlyAndRepeatsTheEnds) {
  expect_output(by_scales(floats({2}, {0, 4}), {2}, linear()), floats({4}, {0, 1, 3, 4}));
}

// 10 * 0.7f is less than 7 in exact arithmetic.
TEST(Resize, RoundsLengthsLikeFloats) {
  auto y = by_scales(counting({10}), {0.7f});
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((*y)[0].shape(), Shape{7});
}

// 1 / 3.0f is no third, but the elements three apart are meant.
TEST(Resize, TakesEveryThirdElementByAThird) {
  expect_output(by_scales(counting({9}), {1 / 3.0f},
                          {{"coordinate_transformation_mode", std::string("asymmetric")},
                           {"nearest_mode", std::string("floor")}}),
                floats({3}, {0, 3, 6}));
}

// ONNX's vectors align the corners of 2.4 elements where only 2 come out.
TEST(Resize, AlignsCornersOfTheLengthBeforeRounding) {
  auto y = by_scales(floats({4}, {1, 2, 3, 4}), {0.6f},
                     linear({{"coordinate_transformation_mode", std::string("align_corners")}}));
  ASSERT_TRUE(y.ok());
  EXPECT_FLOAT_EQ((*y)[0].data<float>()[0], 1);
  EXPECT_NEAR((*y)[0].data<float>()[1], 1 + 3 / 1.4, 1e-6);
}

TEST(Resize, CropsAndFillsWhatLiesOutside) {
  const Attributes crop =
      linear({{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
              {"extrapolation_value", 9.0f}});
  expect_output(
      evaluate(resize, {floats({3}, {0, 1, 2}), floats({2}, {0.5f, 1.5f}), Tensor(), ints({3})},
               crop),
      floats({3}, {1, 2, 9}));
}

TEST(Resize, TruncatesIntegersAndSaturatesThem) {
  const Tensor x = Tensor::of<uint8_t>({4}, {0, 255, 255, 0});
  expect_output(by_sizes(x.reshaped({4}), {3}, linear()), Tensor::of<uint8_t>({3}, {42, 255, 42}));
  auto cubic = by_scales(x, {4}, {{"mode", std::string("cubic")}});
  ASSERT_TRUE(cubic.ok());
  EXPECT_EQ((*cubic)[0].data<uint8_t>()[7], 255);  // the cubic goes beyond it here
}

TEST(Resize, KeepsInfinitiesWhereTheyAre) {
  const float inf = std::numeric_limits<float>::infinity();
  auto y = by_scales(floats({3}, {1, 2, inf}), {2}, linear());
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((*y)[0].data<float>()[2], 1.75f);
  EXPECT_EQ((*y)[0].data<float>()[5], inf);
}

TEST(Resize, KeepsTheAspectRatio) {
  auto shape = [](const char* policy) {
    auto y =
        by_sizes(counting({2, 4}), {6, 6}, {{"keep_aspect_ratio_policy", std::string(policy)}});
    return y.ok() ? (*y)[0].shape() : Shape{};
  };
  EXPECT_EQ(shape("stretch"), (Shape{6, 6}));
  EXPECT_EQ(shape("not_larger"), (Shape{3, 6}));
  EXPECT_EQ(shape("not_smaller"), (Shape{6, 12}));
}

TEST(Resize, ResizesOnlyTheNamedAxes) {
  auto y = by_sizes(counting({2, 3, 4}), {8, 1}, {{"axes", std::vector<int64_t>{-1, 0}}});
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((*y)[0].shape(), (Shape{1, 3, 8}));
}

TEST(Resize, TakesAnEmptyTensorForAnInputLeftOut) {
  expect_output(evaluate(resize, {counting({1}), floats({0}, {}), floats({0}, {}), ints({2})}),
                floats({2}, {0, 0}));
}

TEST(Resize, SplitsATileAgain) {
  const Tensor x = counting({9});
  const std::vector<Tensor> inputs{x, Tensor(), floats({1}, {2.5f})};
  Node node{&resize, {}, {ValueId{0}}, linear({{"mode", std::string("cubic")}}), {}};
  auto operands = [](std::span<const Tensor> tensors) {
    std::vector<Operand> result;
    for (const Tensor& t : tensors) result.push_back({t.defined(), t.type(), &t});
    return result;
  };
  auto run = [](const Node& n, std::span<const Tensor> from, const Shape& shape) {
    std::vector<Tensor> to{Tensor({DType::kF32, shape})};
    n.op->reference(n, from, to);
    return to[0];
  };
  const Tensor whole = run(node, inputs, {22});
  std::vector<Tensor> part = inputs;
  Node tile = node;
  for (const Region& box : {Region{{5}, {17}}, Region{{3}, {8}}}) {
    const auto next = resize.split(tile, operands(part), box);
    ASSERT_TRUE(next);
    part[0] = crop(part[0], next->inputs[0]);
    tile.attributes = next->attributes;
  }
  expect_equal(run(tile, part, {5}), crop(whole, {{8}, {13}}));
}

TEST(Resize, RefusesWhatItCannotMean) {
  const Tensor x = counting({2, 2});
  expect_refused(by_scales(x, {1, 0}), "positive");
  expect_refused(by_scales(x, {1, -2}), "positive");
  expect_refused(by_scales(x, {1, std::numeric_limits<float>::quiet_NaN()}), "finite");
  expect_refused(by_scales(x, {1, 1e30f}), "out of range");
  expect_refused(by_scales(x, {1}), "scales");
  expect_refused(by_sizes(x, {1, -1}), "out of range");
  expect_refused(by_sizes(x, {1, int64_t{1} << 30}), "more than");
  expect_refused(by_sizes(Tensor({DType::kF32, {0, 2}}), {2, 2}), "empty");
  expect_refused(evaluate(resize, {x}), "scales or sizes");
  expect_refused(evaluate(resize, {x, Tensor(), floats({2}, {1, 1}), ints({2, 2})}),
                 "scales or sizes");
  for (const char* key :
       {"mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy"}) {
    expect_refused(by_sizes(x, {2, 2}, {{key, std::string("magic")}}), "unknown");
  }
  expect_refused(
      by_sizes(x, {2, 2}, {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}}),
      "roi");
  expect_refused(by_sizes(Tensor({DType::kBool, {2}}), {3}, linear()), "bool");
}

TEST(Resize, RefusesATileThatLiesOutside) {
  for (const std::vector<int64_t>& tile : {std::vector<int64_t>{1, 0, 0, 4},
                                           {4, 3, 0, 4},
                                           {4, -1, 0, 4},
                                           {4, 0, -1, 4},
                                           {4, 0, 3, 2},
                                           {4, 0, 0, 9},
                                           {std::numeric_limits<int64_t>::min(), 0, 0, 1},
                                           {4, 0, 0}}) {
    expect_refused(by_scales(counting({2}), {2}, {{"shoal_tile", tile}}), "tile");
  }
}

}  // namespace
}  // namespace shoal::ops
