#include "shoal/shrink/compress/analysis/output_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"

namespace shoal::compress {
namespace {

double noise_of(const Tensor& wanted, const Tensor& got) {
  OutputNoise noise;
  noise.add(std::span(&wanted, 1), std::span(&got, 1));
  return noise.value();
}

TEST(OutputNoise, IsZeroForEqualAnswersAndBeforeAny) {
  const Tensor y = Tensor::of<float>({1, 3}, {1, 2, 3});
  EXPECT_EQ(noise_of(y, y), 0);
  EXPECT_EQ(OutputNoise().value(), 0);
}

// Squares about the mean: 2. Differences: 0.02. The whole is floored by a hundredth of itself.
TEST(OutputNoise, IsTheShareOfTheVariance) {
  const Tensor wanted = Tensor::of<float>({3}, {11, 12, 13});
  const Tensor got = Tensor::of<float>({3}, {11.1f, 12, 12.9f});
  EXPECT_NEAR(noise_of(wanted, got), 0.02 / 2.02, 1e-5);
}

// Column 0 is a hundred times larger; as one number, the error of column 1 would be 1 in 10,000.
TEST(OutputNoise, SeesErrorsInASmallColumn) {
  const Tensor wanted = Tensor::of<float>({4, 2}, {100, 1, -100, -1, 100, -1, -100, 1});
  const Tensor got = Tensor::of<float>({4, 2}, {100, 0, -100, 0, 100, 0, -100, 0});
  EXPECT_GT(noise_of(wanted, got), 0.005);
  EXPECT_LT(noise_of(wanted, got), 0.5);
}

TEST(OutputNoise, AddsExamplesUp) {
  OutputNoise noise;
  for (float y : {1.0f, 3.0f}) {
    const Tensor wanted = Tensor::of<float>({1, 1}, {y}), got = Tensor::of<float>({1, 1}, {y + 1});
    noise.add(std::span(&wanted, 1), std::span(&got, 1));
  }
  EXPECT_NEAR(noise.value(), 2 / 2.02, 1e-6);
}

TEST(OutputNoise, IsWholeForNonsense) {
  const Tensor wanted = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(noise_of(wanted, Tensor::of<float>({2}, {NAN, 2})), 1);
  EXPECT_EQ(noise_of(wanted, Tensor::of<float>({2}, {1e30f, 2})), 1);
  const Tensor same = Tensor::of<float>({2}, {1, 1});  // without variance
  EXPECT_EQ(noise_of(same, wanted), 1);
}

TEST(NoiseMeter, ComparesNetworksOnTheSameExamples) {
  const auto network = [](const char* w) {
    return *parse_text(
        std::string("input x f32[1,2]\nconst w f32[2,2] = ") + w + "\ny = MatMul(x, w)\noutput y\n",
        ops::find);
  };
  const auto device = make_reference_device();
  const auto meter = NoiseMeter::start(
      network("[1,0,0,1]"), *device,
      {{Tensor::of<float>({1, 2}, {1, 3})}, {Tensor::of<float>({1, 2}, {-1, -3})}});
  ASSERT_TRUE(meter.ok());
  EXPECT_EQ(*meter->noise(network("[1,0,0,1]")), 0);
  const double little = *meter->noise(network("[1.01,0,0,1]"));
  const double much = *meter->noise(network("[1.1,0,0,1]"));
  EXPECT_GT(little, 0);
  EXPECT_GT(much, 10 * little);
}

}  // namespace
}  // namespace shoal::compress
