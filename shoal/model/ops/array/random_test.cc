#include <algorithm>
#include <cmath>

#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

using Ints = std::vector<int64_t>;

constexpr float kSeed = 7;

double mean_of(const Tensor& x) {
  double sum = 0;
  for (float element : x.data<float>()) sum += element;
  return sum / static_cast<double>(x.count());
}

double variance_of(const Tensor& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (float element : x.data<float>()) sum += (element - mean) * (element - mean);
  return sum / static_cast<double>(x.count());
}

TEST(Random, DrawsTheSameFromTheSameSeed) {
  const Attributes seeded{{"shape", Ints{8}}, {"seed", kSeed}};
  auto first = evaluate(random_normal, {}, seeded);
  ASSERT_TRUE(first.ok());
  expect_output(evaluate(random_normal, {}, seeded), (*first)[0]);
}

TEST(Random, DrawsAnewWithoutASeed) {
  auto first = evaluate(random_uniform, {}, {{"shape", Ints{8}}});
  auto second = evaluate(random_uniform, {}, {{"shape", Ints{8}}});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(std::ranges::equal((*first)[0].data<float>(), (*second)[0].data<float>()));
}

TEST(RandomUniform, StaysInItsRange) {
  auto y = evaluate(random_uniform_like, {counting({10000})},
                    {{"low", -2.0f}, {"high", 4.0f}, {"seed", kSeed}});
  ASSERT_TRUE(y.ok());
  for (float x : (*y)[0].data<float>()) EXPECT_TRUE(-2 <= x && x <= 4);
  EXPECT_NEAR(mean_of((*y)[0]), 1, 0.1);
  EXPECT_NEAR(variance_of((*y)[0]), 3, 0.15);  // 6^2 / 12
}

TEST(RandomNormal, HasItsMeanAndScale) {
  auto y = evaluate(random_normal_like, {counting({10000})},
                    {{"mean", 3.0f}, {"scale", 2.0f}, {"seed", kSeed}});
  ASSERT_TRUE(y.ok());
  EXPECT_NEAR(mean_of((*y)[0]), 3, 0.1);
  EXPECT_NEAR(variance_of((*y)[0]), 4, 0.25);
}

TEST(Random, RefusesAShapeThatCannotBe) {
  expect_refused(evaluate(random_uniform, {}), "shape is missing");
  expect_refused(evaluate(random_uniform, {}, {{"shape", Ints(9, 1)}}), "more than 8");
  expect_refused(evaluate(random_uniform, {}, {{"shape", Ints{-1}}}), "out of range");
  expect_refused(evaluate(random_uniform, {}, {{"shape", Ints{1 << 30, 1 << 30}}}), "limit");
}

TEST(Random, RefusesToDrawIntegers) {
  expect_refused(evaluate(random_normal_like, {ints({1})}), "type i64");
  const Attributes attributes{{"dtype", onnx_number_of(DType::kF64)}};
  auto y = evaluate(random_normal_like, {ints({1})}, attributes);
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((*y)[0].dtype(), DType::kF64);
}

TEST(Bernoulli, DrawsOneWithTheGivenProbability) {
  Tensor p({DType::kF32, {3, 10000}});
  for (size_t k = 0; k < 30000; ++k)
    p.data<float>()[k] = k < 10000 ? 0.0f : k < 20000 ? 0.3f : 1.0f;
  auto y = evaluate(bernoulli, {p}, {{"seed", kSeed}});
  ASSERT_TRUE(y.ok());
  const auto ones = [&](size_t row) {
    return std::ranges::count((*y)[0].data<float>().subspan(row * 10000, 10000), 1.0f);
  };
  EXPECT_EQ(ones(0), 0);
  EXPECT_NEAR(static_cast<double>(ones(1)), 3000, 200);
  EXPECT_EQ(ones(2), 10000);
}

TEST(Multinomial, FollowsTheLogProbabilities) {
  const Tensor x = floats({2, 3}, {std::log(0.2f), std::log(0.8f), -INFINITY, 500, -500, 500});
  auto y = evaluate(multinomial, {x}, {{"sample_size", int64_t{10000}}, {"seed", kSeed}});
  ASSERT_TRUE(y.ok());
  const auto drawn = (*y)[0].data<int32_t>();
  EXPECT_NEAR(static_cast<double>(std::ranges::count(drawn.first(10000), 1)), 8000, 200);
  EXPECT_EQ(std::ranges::count(drawn.first(10000), 2), 0);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(drawn.last(10000), 2)), 5000, 200);
  EXPECT_EQ(std::ranges::count(drawn.last(10000), 1), 0);
}

TEST(Multinomial, StaysAmongTheClassesWhateverTheWeights) {
  auto y = evaluate(multinomial, {floats({2, 2}, {NAN, NAN, -INFINITY, -INFINITY})},
                    {{"sample_size", int64_t{50}}});
  ASSERT_TRUE(y.ok());
  for (int32_t drawn : (*y)[0].data<int32_t>()) EXPECT_TRUE(0 <= drawn && drawn < 2);
}

TEST(Multinomial, RefusesToDrawFromNothing) {
  expect_refused(evaluate(multinomial, {counting({2, 0})}), "no classes");
  expect_refused(evaluate(multinomial, {counting({2, 1})}, {{"sample_size", int64_t{0}}}),
                 "sample_size is 0");
  expect_refused(
      evaluate(multinomial, {counting({2, 1})}, {{"dtype", onnx_number_of(DType::kF32)}}),
      "i32 or i64");
}

TEST(Dropout, CopiesUnlessItTrains) {
  const Tensor x = counting({4});
  auto y = evaluate(dropout, {x, floats({}, {0.9f}), Tensor::of<bool>({}, {false})}, {}, 2);
  expect_output(y, x);
  expect_equal((*y)[1], Tensor::of<bool>({4}, {true, true, true, true}));
}

TEST(Dropout, DropsAndScalesWhenItTrains) {
  Tensor x({DType::kF32, {10000}});
  std::ranges::fill(x.data<float>(), 3.0f);
  auto y = evaluate(dropout, {x, floats({}, {0.25f}), Tensor::of<bool>({}, {true})},
                    {{"seed", int64_t{1}}}, 2);
  ASSERT_TRUE(y.ok());
  for (size_t k = 0; k < 10000; ++k) {
    EXPECT_EQ((*y)[0].data<float>()[k], (*y)[1].data<bool>()[k] ? 4.0f : 0.0f);
  }
  EXPECT_NEAR(static_cast<double>(std::ranges::count((*y)[1].data<bool>(), true)), 7500, 200);
}

TEST(Dropout, DropsEverythingAtRatioOne) {
  expect_output(evaluate(dropout, {counting({3}), floats({}, {1}), Tensor::of<bool>({}, {true})}),
                floats({3}, {0, 0, 0}));
}

TEST(Dropout, RefusesARatioOrModeOfAnotherKind) {
  const Tensor x = counting({2});
  expect_refused(evaluate(dropout, {x, counting({2})}), "takes one element");
  expect_refused(evaluate(dropout, {x, Tensor(), floats({}, {1})}), "type f32");
}

}  // namespace
}  // namespace shoal::ops
