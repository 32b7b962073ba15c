#include <gtest/gtest.h>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/quantization/rounding_errors.h"

namespace shoal::compress {
namespace {

constexpr ValueId kA{1}, kB{2}, kC{3};

TEST(StayReal, AreNoneIfTheNoiseIsLowEnough) {
  const std::vector<ProductNoise> products = {{kA, 0.1, 10}, {kB, 0.2, 10}};
  EXPECT_TRUE(stay_real(products, {.most_noise = 0.31, .most_work = 1}).empty());
  EXPECT_TRUE(stay_real({}, {}).empty());
}

TEST(StayReal, AreTheNoisiestUntilItIs) {
  const std::vector<ProductNoise> products = {{kA, 0.1, 10}, {kB, 0.3, 10}, {kC, 0.2, 10}};
  EXPECT_EQ(stay_real(products, {.most_noise = 0.31, .most_work = 1}), Products{kB});
  EXPECT_EQ(stay_real(products, {.most_noise = 0.15, .most_work = 1}), (Products{kB, kC}));
  EXPECT_EQ(stay_real(products, {.most_noise = 0, .most_work = 1}), (Products{kA, kB, kC}));
}

TEST(StayReal, AreWithinTheirShareOfTheWork) {
  const std::vector<ProductNoise> products = {{kA, 0.1, 10}, {kB, 0.3, 80}, {kC, 0.2, 10}};
  EXPECT_EQ(stay_real(products, {.most_noise = 0, .most_work = 0.1}), Products{kC});
  EXPECT_EQ(stay_real(products, {.most_noise = 0, .most_work = 0.2}), (Products{kA, kC}));
  EXPECT_TRUE(stay_real(products, {.most_noise = 0, .most_work = 0}).empty());
}

TEST(StayReal, AreNotThoseWithoutNoise) {
  const std::vector<ProductNoise> products = {{kA, 0, 10}, {kB, 0.3, 10}};
  EXPECT_EQ(stay_real(products, {.most_noise = -1, .most_work = 1}), Products{kB});
}

// The second product has one weight that is a thousand times the others of its channel.
TEST(NoisesAlone, FindTheProductThatRoundingHurts) {
  const Graph graph = *parse_text(R"(
input x f32[1,2]
const w f32[2,2] = [1,0,0,1]
const v f32[2,2] = [1,0,1000,1]
const k f32[2] = [1,0.001]
a = MatMul(x, w)
b = Tanh(a)
c = Mul(b, k)
y = MatMul(c, v)
output y
)",
                                  ops::find);
  const auto device = make_reference_device();
  std::vector<std::vector<Tensor>> examples;
  for (float x : {-0.9f, -0.3f, 0.4f, 0.8f}) {
    examples.push_back({Tensor::of<float>({1, 2}, {x, -x / 2})});
  }
  const auto meter = NoiseMeter::start(graph, *device, examples);
  ASSERT_TRUE(meter.ok());
  Ranges ranges;
  for (ValueId id : values_to_quantize(graph)) ranges[id] = {-1, 1};
  const auto noises = noises_alone(graph, ranges, RangeRule::kMinMax, *meter);
  ASSERT_TRUE(noises.ok()) << noises.status().message();
  ASSERT_EQ(noises->size(), 2u);
  EXPECT_EQ((*noises)[0].work, 4 + 16 * 4 + 4 * 4);
  EXPECT_GT((*noises)[0].noise, 0);
  EXPECT_GT((*noises)[1].noise, 10 * (*noises)[0].noise);
}

}  // namespace
}  // namespace shoal::compress
