#include "shoal/model/ops/norm/channel_scaling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "shoal/model/graph/graph.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

// How the last node scales its channels.
std::optional<ChannelScaling> scaling_in(const std::string& text) {
  const auto graph = parse_text("input x f32[1,2,3,3]\n" + text + "\noutput y\n", find);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return std::nullopt;
  const Node& node = graph->nodes().back();
  return channel_scaling_of(node, graph->operands(node.inputs));
}

using Numbers = std::vector<double>;

TEST(ChannelScaling, IsThatOfANormInInference) {
  const auto scaling = scaling_in(R"(const gamma f32[2] = [1,3]
const beta f32[2] = [0,5]
const mean f32[2] = [2,1]
const variance f32[2] = [3.5,0.25]
y = BatchNormalization(x, gamma, beta, mean, variance) epsilon=0.5)");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->scale[0], 0.5);
  EXPECT_EQ(scaling->shift[0], -1);
  EXPECT_DOUBLE_EQ(scaling->scale[1], 3 / std::sqrt(0.75));
  EXPECT_DOUBLE_EQ(scaling->shift[1], 5 - scaling->scale[1]);
}

TEST(ChannelScaling, IsThatOfOneWeightPerChannel) {
  const std::string weights = "const w f32[2,1,1,1] = [4,-2]\nconst b f32[2] = [1,7]\n";
  const auto plain = scaling_in(weights + "y = Conv(x, w) group=2");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->scale, (Numbers{4, -2}));
  EXPECT_EQ(plain->shift, (Numbers{0, 0}));
  const auto biased = scaling_in(weights + "y = Conv(x, w, b) group=2");
  ASSERT_TRUE(biased);
  EXPECT_EQ(biased->shift, (Numbers{1, 7}));
}

TEST(ChannelScaling, IsNothingElse) {
  const std::string one = "const w f32[2,1,1,1] = [4,-2]\n";
  EXPECT_FALSE(scaling_in(one + "y = Conv(x, w) group=2 strides=[2,2]"));
  EXPECT_FALSE(scaling_in(one + "y = Conv(x, w) group=2 strides=[2,2] pads=[1,1,1,1]"));
  EXPECT_FALSE(scaling_in(one + "y = Conv(x, w) group=2 pads=[1,1,1,1]"));
  EXPECT_FALSE(scaling_in("const w f32[4,1,1,1] = ones\ny = Conv(x, w) group=2"));
  EXPECT_FALSE(scaling_in("const w f32[2,2,1,1] = ones\ny = Conv(x, w)"));
  EXPECT_FALSE(scaling_in("const w f32[2,1,3,3] = ones\ny = Conv(x, w) group=2 pads=[1,1,1,1]"));
  EXPECT_FALSE(scaling_in("input w f32[2,1,1,1]\ny = Conv(x, w) group=2"));
  EXPECT_FALSE(scaling_in("input p f32[2]\ny = BatchNormalization(x, p, p, p, p)"));
  EXPECT_FALSE(scaling_in("y = Relu(x)"));
}

}  // namespace
}  // namespace shoal::ops
