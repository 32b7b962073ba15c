#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/refit/refit.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/residual_blocks.h"

namespace shoal::compress {
namespace {

class Norms : public ::testing::Test {
 protected:
  // The last convolution has a norm already.
  static Graph network() {
    auto graph = parse_text(R"(
input x f32[1,2,3,3]
const u f32[4,2,1,1] = [1,2,-1,3,0.5,-2,0,0]
const v f32[2,4,1,1] = [1,-1,2,0.5,0.25,3,-2,1]
const w f32[2,2,1,1] = [1,2,3,4]
const b f32[2] = [1,-3]
const scale f32[2] = [2,1]
const mean f32[2] = [0.5,0]
const variance f32[2] = [4,1]
a = Conv(x, u)
h = Relu(a)
c = Conv(h, v, b)
s = Add(c, x)
d = Conv(s, w)
y = BatchNormalization(d, scale, mean, mean, variance)
output y
)",
                            ops::find);
    SHOAL_CHECK(graph.ok());
    return *std::move(graph);
  }

  static size_t count(const Graph& graph, const Operator& op) {
    return static_cast<size_t>(
        std::ranges::count(graph.nodes(), &op, [](const Node& node) { return node.op; }));
  }

  const Graph graph_ = network();
  std::unique_ptr<Device> device_ = make_reference_device();
  const CalibrationData examples_ = random_examples(graph_, 5);
};

TEST_F(Norms, AreSeenWhereNoneFollows) {
  const auto moments = conv_moments(graph_, examples_, *device_);
  ASSERT_TRUE(moments.ok()) << moments.status().message();
  ASSERT_EQ(moments->size(), 2U);
  EXPECT_TRUE(moments->contains("a"));
  EXPECT_TRUE(moments->contains("c"));
}

// Channel 2 of the first convolution is x0/2 - 2 x1, channel 3 is always 0.
TEST_F(Norms, HaveTheMomentsOfTheirChannel) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 3}, {2, 2, 2, 2, 2, 2, 2, 2, 2,  //
                                                    0, 0, 0, 1, 1, 1, 2, 2, 2});
  const CalibrationData calibration_data{1, [&](size_t) { return std::vector<Tensor>{x}; }};
  const auto moments = conv_moments(graph_, calibration_data, *device_);
  ASSERT_TRUE(moments.ok()) << moments.status().message();
  const ChannelMoments& a = moments->at("a");
  EXPECT_DOUBLE_EQ(a.mean[2], -1);
  EXPECT_DOUBLE_EQ(a.variance[2], 4 * (2.0 / 3));
  EXPECT_EQ(a.mean[3], 0);
  EXPECT_EQ(a.variance[3], 0);
}

TEST_F(Norms, ChangeNoAnswerAndFoldAway) {
  const auto moments = conv_moments(graph_, examples_, *device_);
  ASSERT_TRUE(moments.ok()) << moments.status().message();
  const auto normed = with_norms(graph_, *moments);
  ASSERT_TRUE(normed.ok()) << normed.status().message();
  EXPECT_EQ(count(*normed, ops::batch_normalization), 3U);
  const auto folded = passes::fold_batch_norm(*normed);
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_EQ(count(*folded, ops::batch_normalization), 0U);
  for (size_t i = 0; i < examples_.count; ++i) {
    const auto inputs = examples_.at(i);
    const auto want = answers(graph_, *inputs, *device_);
    EXPECT_LE(relative_error(*answers(*normed, *inputs, *device_), *want), 1e-6);
    EXPECT_LE(relative_error(*answers(*folded, *inputs, *device_), *want), 1e-6);
  }
}

// What is decided about a network is done to the network with norms.
TEST_F(Norms, LeaveUnitsTheirNumbers) {
  const auto moments = conv_moments(graph_, examples_, *device_);
  const auto normed = with_norms(graph_, *moments);
  ASSERT_TRUE(normed.ok()) << normed.status().message();
  const auto before = find_groups(graph_), after = find_groups(*normed);
  ASSERT_TRUE(before.ok() && after.ok());
  ASSERT_EQ(before->groups.size(), after->groups.size());
  ASSERT_GE(before->groups.size(), 1U);
  for (size_t i = 0; i < before->groups.size(); ++i) {
    EXPECT_EQ(before->groups[i].begin, after->groups[i].begin);
    EXPECT_EQ(before->groups[i].end, after->groups[i].end);
  }
}

TEST_F(Norms, LeaveResidualBlocksTheirNumbers) {
  const auto normed = with_norms(graph_, *conv_moments(graph_, examples_, *device_));
  ASSERT_TRUE(normed.ok()) << normed.status().message();
  const auto before = residual_blocks(graph_), after = residual_blocks(*normed);
  ASSERT_EQ(before.size(), 1U);
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(before[0].weights, after[0].weights);
}

TEST_F(Norms, RefuseWhatDoesNotFit) {
  EXPECT_FALSE(conv_moments(graph_, {}, *device_).ok());
  EXPECT_FALSE(with_norms(graph_, {{"a", {{0}, {1}}}}).ok());
}

}  // namespace
}  // namespace shoal::compress
