#include <gtest/gtest.h>

#include <memory>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/quantization/rounding_errors.h"
#include "shoal/shrink/compress/units/compress_testing.h"

namespace shoal::compress {
namespace {

TEST(TrustedMean, IsTheMeanWhereAllAgree) {
  EXPECT_DOUBLE_EQ(trusted_mean(std::vector<double>{0.5, 0.5, 0.5}), 0.5);
  EXPECT_DOUBLE_EQ(trusted_mean(std::vector<double>{-2}), -2);
}

// m = 1, s^2 = ((1/2)^2 + (1/2)^2) / 2 = 1/4.
TEST(TrustedMean, IsLessWhereTheyDiffer) {
  EXPECT_DOUBLE_EQ(trusted_mean(std::vector<double>{0.5, 1.5}), 0.75);
}

TEST(TrustedMean, IsZeroForWhatMayBeAnAccident) {
  EXPECT_EQ(trusted_mean(std::vector<double>{-1, 1}), 0);
  EXPECT_EQ(trusted_mean(std::vector<double>{-1, 1.1}), 0);
  EXPECT_EQ(trusted_mean(std::vector<double>{0, 0}), 0);
}

// Weights of 1 and 0.6 / 127, which is rounded to 1 / 127: the channel gives 0.4 / 127 too much of
// each x1. The next product sees the shifted values.
class Shifting : public ::testing::Test {
 protected:
  const Graph graph_ = parse(R"(
input x f32[1,2]
const w f32[2,1] = [1,0.00472440944]
const v f32[1,1] = [2]
a = Gemm(x, w)
y = Gemm(a, v)
output y
)");
  std::unique_ptr<Device> device_ = make_reference_device();
  std::vector<std::vector<Tensor>> examples_ = {{Tensor::of<float>({1, 2}, {0, 100})},
                                                {Tensor::of<float>({1, 2}, {0, 100})}};
  Ranges ranges() const {
    Ranges ranges;
    for (ValueId id : values_to_quantize(graph_)) ranges[id] = {0, 255};
    return ranges;
  }
};

TEST_F(Shifting, PutsTheMeanRightFirstToLast) {
  const auto quantized = quantize(graph_, {{graph_.inputs()[0], {0, 255}}});
  ASSERT_TRUE(quantized.ok());
  const auto shifts = mean_shifts(graph_, *quantized, examples_, *device_);
  ASSERT_TRUE(shifts.ok()) << shifts.status().message();
  // The second product is not quantised here: its input has no range.
  ASSERT_EQ(shifts->size(), 1u);
  EXPECT_NEAR(shifts->begin()->second[0], -0.4 / 127 * 100, 1e-3);
}

TEST_F(Shifting, LeavesNothingForProductsBehindTheOneAtFault) {
  Ranges exact = ranges();
  // Steps of 1/128 for 'a': 0.47 has an error of 0.004 at most, 0.79 would be a shift of 0.31.
  for (auto& [id, range] : exact) {
    if (id != graph_.inputs()[0]) range = {0, 255.0f / 128};
  }
  const auto quantized = quantize(graph_, exact);
  ASSERT_TRUE(quantized.ok());
  const auto shifts = mean_shifts(graph_, *quantized, examples_, *device_);
  ASSERT_TRUE(shifts.ok()) << shifts.status().message();
  ASSERT_EQ(shifts->size(), 2u);
  EXPECT_NEAR(shifts->begin()->second[0], -0.4 / 127 * 100, 1e-3);
  EXPECT_NEAR(shifts->rbegin()->second[0], 0, 0.01);
}

}  // namespace
}  // namespace shoal::compress
