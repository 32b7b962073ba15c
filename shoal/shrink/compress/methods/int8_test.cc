#include "shoal/shrink/compress/methods/int8.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/compress_testing.h"

namespace shoal::compress {
namespace {

// The second convolution of two channels has weights that differ by a factor of 1000, as those of
// inputs that differ by as much may: in bytes, the small ones are lost.
std::string network(int batch) {
  const std::string n = std::to_string(batch);
  return "input x f32[" + n + R"(,2,6,6]
const w f32[2,2,3,3] = random(1)
const v f32[1,2,1,1] = [1,1000]
const k f32[1,2,1,1] = [1,0.001]
const u f32[4,1,3,3] = random(2)
a = Conv(x, w) pads=[1,1,1,1]
t = Tanh(a)
b = Mul(t, k)
c = Conv(b, v)
d = Relu(c)
y = Conv(d, u)
output y
)";
}

class Int8 : public ::testing::Test {
 protected:
  Context context(const Int8Options& options = {}) {
    return {.device = *device_, .examples = random_examples(graph_, 16), .int8 = options};
  }

  const Graph graph_ = parse(network(1));
  std::unique_ptr<Device> device_ = make_reference_device();
};

TEST_F(Int8, TakesTheRangesOfTheLeastNoise) {
  const Int8Options plain{.correct_bias = false, .fallback = {.most_work = 0}};
  const auto chosen = choose_int8(graph_, context(plain));
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  for (RangeRule rule : kRangeRules) {
    Int8Options options = plain;
    options.ranges = rule;
    const auto given = choose_int8(graph_, context(options));
    ASSERT_TRUE(given.ok());
    EXPECT_EQ(given->values, rule);
    EXPECT_EQ(given->weights, rule);
    // Rules for values and weights are tried in turn; a pair that was not tried may be better.
    const double slack = rule == RangeRule::kMinMax ? 1 : 1.2;
    EXPECT_LE(chosen->noise, given->noise * slack) << name_of(rule);
  }
}

TEST_F(Int8, LeavesTheProductRealThatRoundingHurts) {
  const Int8Options none{.fallback = {.most_work = 0}}, some{.fallback = {.most_work = 0.5}};
  const auto all = choose_int8(graph_, context(none));
  const auto chosen = choose_int8(graph_, context(some));
  ASSERT_TRUE(all.ok() && chosen.ok());
  EXPECT_TRUE(all->real.empty());
  EXPECT_TRUE(chosen->real.contains("c"));
  EXPECT_LT(chosen->noise, all->noise / 4);
  const auto result = find_method("int8")->run(graph_, context(some));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->parts, 3u);
  EXPECT_EQ(result->compressed, 3 - chosen->real.size());
  EXPECT_EQ(result->left.size(), chosen->real.size());
}

TEST_F(Int8, CorrectsBiasesWhereThatHelps) {
  const Int8Options with{.fallback = {.most_work = 0}};
  Int8Options without = with;
  without.correct_bias = false;
  const auto corrected = choose_int8(graph_, context(with));
  const auto plain = choose_int8(graph_, context(without));
  ASSERT_TRUE(corrected.ok() && plain.ok());
  EXPECT_TRUE(plain->shifts.empty());
  EXPECT_LE(corrected->noise, plain->noise);
  EXPECT_EQ(corrected->shifts.empty(), corrected->noise == plain->noise);
}

TEST_F(Int8, IsChosenForOneExampleAndDoneForABatch) {
  const auto choice = choose_int8(graph_, context());
  ASSERT_TRUE(choice.ok());
  const auto one = quantized(graph_, *choice);
  const auto two = quantized(parse(network(2)), *choice);
  ASSERT_TRUE(one.ok() && two.ok());
  ASSERT_EQ(one->nodes().size(), two->nodes().size());
  std::mt19937 rng(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor x({DType::kF32, {2, 2, 6, 6}});
  for (float& e : x.data<float>()) e = uniform(rng);
  const Tensor first =
      Tensor::of<float>({1, 2, 6, 6}, std::span<const float>(x.data<float>()).first(72));
  std::vector<Tensor> both(1), alone(1);
  ASSERT_TRUE((*device_->compile(*two))->run(std::span(&x, 1), both, {}).ok());
  ASSERT_TRUE((*device_->compile(*one))->run(std::span(&first, 1), alone, {}).ok());
  for (size_t i = 0; i < alone[0].data<float>().size(); ++i) {
    EXPECT_EQ(alone[0].data<float>()[i], both[0].data<float>()[i]);
  }
}

TEST_F(Int8, RoundsANetworkThatLearnsAlike) {
  const Int8Options plain{.correct_bias = false};
  const auto choice = choose_int8(graph_, context(plain));
  ASSERT_TRUE(choice.ok());
  const auto learns = rounding(graph_, *choice), fixed = quantized(graph_, *choice);
  ASSERT_TRUE(learns.ok() && fixed.ok());
  const std::string text = to_text(*learns);
  EXPECT_NE(text.find("QuantizeLinear(w,"), std::string::npos) << text;
  const auto inputs = random_examples(graph_).at(3);
  ASSERT_TRUE(inputs.ok());
  std::vector<Tensor> a(1), b(1);
  ASSERT_TRUE((*device_->compile(*learns))->run(*inputs, a, {}).ok());
  ASSERT_TRUE((*device_->compile(*fixed))->run(*inputs, b, {}).ok());
  for (size_t i = 0; i < a[0].data<float>().size(); ++i) {
    EXPECT_NEAR(a[0].data<float>()[i], b[0].data<float>()[i], 1e-4f);
  }
}

TEST_F(Int8, NeedsExamples) {
  EXPECT_EQ(choose_int8(graph_, {*device_}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::compress
