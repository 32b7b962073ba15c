#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/engine/cpu/layout/select_channels.h"
#include "shoal/engine/cpu/lower/lowering.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

std::vector<Tensor> answers(const Graph& graph) {
  std::mt19937 rng(3);
  std::vector<Tensor> inputs, outputs(graph.outputs().size());
  for (ValueId id : graph.inputs()) inputs.push_back(random_floats(rng, graph[id].type.shape));
  auto executable = make_reference_device()->compile(graph);
  EXPECT_TRUE(executable.ok() && (*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

// The lowered graph's operators, one word each; the answers must stay what they were.
std::string lowered(const std::string& text) {
  const auto graph = parse_text(text, ops::find);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  const auto after = lower(*graph, 4);
  EXPECT_TRUE(after.ok() && verify(*after).ok());
  const auto before_answers = answers(*graph), after_answers = answers(*after);
  for (size_t i = 0; i < before_answers.size(); ++i) {
    const auto want = before_answers[i].data<float>(), got = after_answers[i].data<float>();
    EXPECT_EQ(before_answers[i].type(), after_answers[i].type());
    for (size_t e = 0; e < want.size(); ++e) EXPECT_NEAR(got[e], want[e], 1e-4) << "element " << e;
  }
  std::string names;
  for (const Node& node : after->nodes()) {
    names += (names.empty() ? "" : " ") + std::string(node.op->name);
  }
  return names;
}

TEST(Lower, KeepsBlocksBetweenConvolutions) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,8,6,6]
      const w f32[8,8,3,3] = random(1)
      a = FusedConv(x, w) pads=[1,1,1,1] activation="Relu"
      b = Conv(a, w) pads=[1,1,1,1]
      c = Add(a, b)
      y = Sigmoid(c)
      output y)"),
            "BlockChannels BlockedConv BlockedConv Add Sigmoid UnblockChannels");
}

// Padding on one side of the frames only, a step of two between them, a bias and an activation.
TEST(Lower, MakesImagesOfVolumes) {
  EXPECT_EQ(lowered(R"(
      input x f32[2,3,4,33,33]
      const w f32[8,3,3,3,3] = random(1)
      const b f32[8] = random(2)
      y = FusedConv(x, w, b) pads=[1,1,1,0,1,1] strides=[2,1,1] activation="Relu"
      output y)"),
            "Reshape Concat Gather Reshape BlockChannels BlockedConv UnblockChannels Reshape "
            "Transpose");
}

TEST(Lower, LeavesVolumesOfFewPixels) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,3,4,6,6]
      const w f32[8,3,3,3,3] = random(1)
      y = Conv(x, w) pads=[1,1,1,1,1,1]
      output y)"),
            "Conv");
}

TEST(Lower, KeepsBlocksInBFloat16) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,8,6,6]
      const w f32[8,8,3,3] = random(1)
      a = Conv(x, w) pads=[1,1,1,1]
      b = Cast(a) to=16 round_mode="nearest"
      c = Cast(b) to=1
      y = Conv(c, w)
      output y)"),
            "BlockChannels BlockedConv Cast Cast BlockedConv UnblockChannels");
}

TEST(Lower, ReadsImagesOfFewChannelsAsTheyAre) {
  EXPECT_EQ(lowered(R"(
      input x f32[2,3,6,6]
      const w f32[8,3,3,3] = random(1)
      y = Conv(x, w) strides=[2,2]
      output y)"),
            "BlockedConv UnblockChannels");
}

TEST(Lower, PoolsBlocks) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,3,9,9]
      const w f32[10,3,3,3] = random(1)
      a = Conv(x, w)
      b = MaxPool(a) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]
      c = AveragePool(b) kernel_shape=[2,2] auto_pad="SAME_UPPER"
      y = GlobalAveragePool(c)
      output y)"),
            "BlockedConv MaxPool AveragePool AveragePool UnblockChannels");
}

TEST(Lower, PoolsByMeans) {
  // Over rows and columns of every channel, and of its own size; no other mean.
  EXPECT_EQ(lowered(R"(
      input x f32[1,3,4,5]
      const w f32[6,3,1,1] = random(1)
      a = Conv(x, w)
      b = ReduceMean(a) axes=[2,-1]
      c = Mul(a, b)
      d = ReduceMean(c) axes=[3]
      e = ReduceMean(c) axes=[2,3] keepdims=0
      output c
      output d
      output e)"),
            "BlockedConv AveragePool Mul UnblockChannels ReduceMean ReduceMean");
}

TEST(Lower, ScalesBlocks) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,3,9,9]
      const w f32[10,3,3,3] = random(1)
      const gamma f32[10] = random(2)
      const beta f32[10] = random(3)
      const mean f32[10] = random(4)
      const variance f32[10] = [1,2,3,4,5,6,7,8,9,10]
      a = FusedConv(x, w) activation="Sigmoid"
      b = BatchNormalization(a, gamma, beta, mean, variance) epsilon=0.5
      const v f32[8,10,1,1] = random(5)
      y = Conv(b, v)
      output y)"),
            "BlockedConv Mul Add BlockedConv UnblockChannels");
}

TEST(Lower, LeavesTheBlocksWithFewChannels) {
  // Blocks are made for them only where taps are many.
  EXPECT_EQ(lowered(R"(
      input x f32[1,8,6,6]
      input z f32[1,8,6,6]
      input r f32[1,1,6,6]
      const w f32[8,8,3,3] = random(1)
      const v f32[1,8,1,1] = random(2)
      const u f32[1,8,3,3] = random(3)
      a = Conv(x, w) pads=[1,1,1,1]
      b = Conv(a, v)
      c = FusedConv(a, v, _, r) activation="Relu"
      d = Conv(z, v)
      e = Conv(z, u)
      output b
      output c
      output d
      output e)"),
            "BlockChannels BlockedConv UnblockingConv UnblockingConv Conv BlockChannels "
            "UnblockingConv");
}

TEST(Lower, NormalisesAndSlicesBlocks) {
  EXPECT_EQ(lowered(R"(
      input x f32[2,3,6,6]
      const w f32[6,3,3,3] = random(1)
      const scale f32[6] = random(2)
      const bias f32[6] = random(3)
      const starts i64[2] = [1,0]
      const ends i64[2] = [4,2]
      const axes i64[2] = [-1,2]
      const channels i64[1] = [1]
      const one i64[1] = [1]
      const two i64[1] = [2]
      a = Conv(x, w)
      b = InstanceNormalization(a, scale, bias)
      c = Slice(b, starts, ends, axes)
      d = Slice(b, one, two, channels)
      output c
      output d)"),
            "BlockedConv BlockedInstanceNormalization Slice UnblockChannels SelectChannels "
            "UnblockChannels");
}

TEST(Lower, TransposesConvolutionsInBlocks) {
  // Not those of few output channels, nor those whose phases would mostly meet padding.
  EXPECT_EQ(lowered(R"(
      input x f32[1,4,5,5]
      input z f32[1,4,1,1]
      const w f32[4,4,3,3] = random(1)
      const one f32[4,1,3,3] = random(2)
      a = ConvTranspose(x, w) strides=[2,2]
      b = FusedConvTranspose(a, w, _, a) pads=[1,1,1,1] activation="Relu"
      c = ConvTranspose(a, one)
      d = ConvTranspose(z, w)
      output b
      output c
      output d)"),
            "BlockChannels BlockedConvTranspose BlockedConvTranspose UnblockChannels ConvTranspose "
            "ConvTranspose UnblockChannels");
}

TEST(Lower, ScalesChannels) {
  EXPECT_EQ(lowered(R"(
      input x f32[2,3,5,5]
      const w f32[6,3,3,3] = random(1)
      const scale f32[6,1,1] = random(2)
      const half f32[] = [0.5]
      a = Conv(x, w)
      b = Mul(a, scale)
      c = Add(half, b)
      d = GlobalAveragePool(c)
      y = Mul(c, d)
      output y)"),
            "BlockedConv Mul Add AveragePool Mul UnblockChannels");
}

TEST(Lower, ResizesBlocks) {
  // By sizes, by scales that are rounded, and along rows only; not along channels.
  EXPECT_EQ(lowered(R"(
      input x f32[2,3,5,5]
      const w f32[6,3,1,1] = random(1)
      const v f32[6,6,1,1] = random(2)
      const sizes i64[4] = [2,6,3,7]
      const scales f32[4] = [1,1,1.5,0.7]
      const rows f32[1] = [2]
      const wide i64[4] = [2,12,5,5]
      a = Conv(x, w)
      b = Resize(a, _, _, sizes) mode="linear"
      c = Conv(b, v)
      d = Resize(c, _, scales) mode="linear"
      e = Conv(d, v)
      f = Resize(e, _, rows) axes=[-2]
      g = Conv(f, v)
      h = Resize(g, _, _, wide)
      output h)"),
            "BlockedConv Resize BlockedConv Resize BlockedConv Resize BlockedConv UnblockChannels "
            "Resize");
}

TEST(Lower, LeavesTheBlocksBeforeAnImageGrows) {
  // The first is read by a convolution behind a sum and a slice, the second by no one else.
  EXPECT_EQ(lowered(R"(
      input x f32[1,3,5,5]
      const w f32[6,3,1,1] = random(1)
      const v f32[6,4,1,1] = random(2)
      const twice f32[4] = [1,1,2,2]
      const half f32[4] = [1,1,0.5,0.5]
      const one i64[1] = [1]
      const five i64[1] = [5]
      a = Conv(x, w)
      b = Resize(a, _, twice)
      c = Add(b, b)
      d = Slice(c, one, five, one)
      e = Conv(d, v)
      f = Resize(e, _, twice)
      g = Relu(f)
      h = Resize(e, _, half)
      output g
      output h)"),
            "BlockedConv Resize Add SelectChannels BlockedConv UnblockChannels Resize Relu Resize "
            "UnblockChannels");
}

TEST(Lower, ScalesClampsWithTheConvolution) {
  // Each channel has bounds of its own, which change places where the scale is negative.
  const std::string parameters = R"(
      input x f32[1,3,5,5]
      const w f32[6,3,3,3] = random(1)
      const b f32[6] = random(2)
      const gamma f32[6] = [1,-2,0,0.5,-1,3]
      const beta f32[6] = [0.5,-1,2,0,1,-2]
      const mean f32[6] = random(3)
      const variance f32[6] = [1,2,3,4,5,6]
)";
  const std::string clip = R"(activation="Clip" activation_alpha=0.5 activation_beta=4.0)";
  EXPECT_EQ(lowered(parameters + "a = FusedConv(x, w, b) pads=[1,1,1,1] " + clip +
                    "\ny = BatchNormalization(a, gamma, beta, mean, variance)\noutput y\n"),
            "BlockedConv UnblockChannels");
  EXPECT_EQ(lowered(parameters + R"(
      a = FusedConv(x, w) activation="Relu"
      y = BatchNormalization(a, gamma, beta, mean, variance)
      output y)"),
            "BlockedConv UnblockChannels");
  EXPECT_EQ(lowered(parameters + R"(
      const scale f32[6,1,1,1] = [1,-2,0,0.5,-1,3]
      a = FusedConv(x, w) activation="Relu"
      y = Conv(a, scale, beta) group=6
      output y)"),
            "BlockedConv UnblockChannels");
}

TEST(Lower, ScalesNothingElseWithTheConvolution) {
  // What others read too; sums; functions that do not clamp.
  const std::string parameters = R"(
      input x f32[1,3,5,5]
      const w f32[6,3,1,1] = random(1)
      const p f32[6] = [1,2,3,4,5,6]
)";
  EXPECT_EQ(lowered(parameters + R"(
      a = FusedConv(x, w) activation="Relu"
      y = BatchNormalization(a, p, p, p, p)
      output a
      output y)"),
            "BlockedConv Mul Add UnblockChannels UnblockChannels");
  EXPECT_EQ(lowered(parameters + R"(
      r = Conv(x, w)
      a = FusedConv(x, w, p, r) activation="Relu"
      y = BatchNormalization(a, p, p, p, p)
      output y)"),
            "BlockedConv BlockedConv Mul Add UnblockChannels");
  EXPECT_EQ(lowered(parameters + R"(
      a = FusedConv(x, w) activation="Sigmoid"
      y = BatchNormalization(a, p, p, p, p)
      output y)"),
            "BlockedConv Mul Add UnblockChannels");
}

TEST(Lower, LeavesTheBlocksWhereTheyCannotGoOn) {
  // Transpose breaks planes.
  EXPECT_EQ(lowered(R"(
      input x f32[1,3,5,5]
      const w f32[8,3,1,1] = random(1)
      const v f32[6,3,1,1] = random(2)
      a = Conv(x, w)
      b = Conv(x, v)
      c = Concat(a, a) axis=1
      d = Concat(c, b) axis=1
      y = Transpose(d) perm=[0,2,3,1]
      output y)"),
            "BlockedConv BlockedConv SelectChannels UnblockChannels Transpose");
}

TEST(Lower, ShufflesChannelsAtOnce) {
  // Of both images alike. Half of the channels wait for the second unit; nothing but the inputs of
  // convolutions is ever moved.
  EXPECT_EQ(lowered(R"(
      input x f32[2,3,4,5]
      const w f32[6,3,1,1] = random(1)
      const v f32[6,6,1,1] = random(2)
      const u f32[8,12,1,1] = random(3)
      const groups i64[5] = [2,2,6,4,5]
      const image i64[4] = [2,12,4,5]
      a = Conv(x, w)
      b = Conv(a, v)
      c = Concat(a, b) axis=-3
      d = Reshape(c, groups)
      e = Transpose(d) perm=[0,2,1,3,4]
      f = Reshape(e, image)
      left, right = Split(f) axis=1
      g = Conv(right, v)
      h = Concat(left, g) axis=1
      i = Reshape(h, groups)
      j = Transpose(i) perm=[0,2,1,3,4]
      k = Reshape(j, image)
      y = Conv(k, u)
      output y)"),
            "BlockedConv BlockedConv SelectChannels BlockedConv SelectChannels BlockedConv "
            "UnblockChannels");
}

TEST(Lower, GathersGroupsOfChannels) {
  // Images and channels in one axis, as long as there is one image.
  const std::string text = R"(
      const w f32[6,3,1,1] = random(1)
      const v f32[8,3,1,1] = random(2)
      const second i64[] = [-1]
      const starts i64[1] = [5]
      const ends i64[1] = [-7]
      const channels i64[1] = [1]
      const steps i64[1] = [-2]
      a = Conv(x, w)
      b = Reshape(a, groups)
      c = Transpose(b) perm=[1,0,2]
      d = Reshape(c, halves)
      e = Gather(d, second)
      f = Slice(a, starts, ends, channels, steps)
      g = Add(e, f)
      y = Conv(g, v)
      output y)";
  EXPECT_EQ(lowered("input x f32[1,3,4,5]\nconst groups i64[3] = [3,2,20]\n"
                    "const halves i64[5] = [2,1,3,4,5]\n" +
                    text),
            "BlockedConv SelectChannels SelectChannels Add BlockedConv UnblockChannels");
  EXPECT_EQ(lowered("input x f32[2,3,4,5]\nconst groups i64[3] = [6,2,20]\n"
                    "const halves i64[5] = [2,2,3,4,5]\n" +
                    text),
            "BlockedConv SelectChannels SelectChannels Add BlockedConv UnblockChannels");
}

TEST(Lower, MixesNoImages) {
  // Planes of different images, or in an order of its own for each, are no image in blocks.
  EXPECT_EQ(lowered(R"(
      input x f32[2,3,4,5]
      const w f32[6,3,1,1] = random(1)
      const v f32[8,6,1,1] = random(2)
      const last_first i64[2] = [1,0]
      const one i64[4] = [1,12,4,5]
      a = Conv(x, w)
      b = Gather(a, last_first)
      c = Reshape(a, one)
      y = Conv(b, v)
      output y
      output c)"),
            "BlockedConv UnblockChannels Gather BlockChannels BlockedConv UnblockChannels Reshape");
}

TEST(Lower, MovesWhatWaitedTooLong) {
  // Every unit leaves some channels of all units before it; their images must not all be kept.
  std::string text = R"(
      input x f32[1,3,4,5]
      const w f32[32,3,1,1] = random(1)
      const v f32[16,16,1,1] = random(2)
      const zero i64[1] = [0]
      const one i64[1] = [1]
      const two i64[1] = [2]
      const end i64[1] = [32]
      x0 = Conv(x, w)
)";
  for (int i = 0; i < 6; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "even" + n + " = Slice(x" + n + ", zero, end, one, two)\n";
    text += "odd" + n + " = Slice(x" + n + ", one, end, one, two)\n";
    text += "y" + n + " = Conv(odd" + n + ", v)\n";
    text += "x" + next + " = Concat(even" + n + ", y" + n + ") axis=1\n";
  }
  text += "output x6\n";
  lowered(text);  // which compares the answers
  const auto graph = lower(*parse_text(text, ops::find), 4);
  ASSERT_TRUE(graph.ok());
  size_t most = 0;
  for (const Node& node : graph->nodes()) {
    if (node.op == &select_channels) most = std::max(most, node.inputs.size());
  }
  EXPECT_EQ(most, 4u);
}

TEST(Lower, KeepsBlocksOfBytes) {
  // The average has one pixel per channel, so it needs no blocks.
  EXPECT_EQ(lowered(R"(
      input x f32[1,3,9,9]
      const s f32[] = [0.02]
      const z u8[] = [128]
      const o i8[] = [0]
      const w i8[6,3,3,3] = ones
      const v i8[6,6,1,1] = ones
      const table u8[256] = random(3)
      a = QuantizeLinear(x, s, z)
      b = QLinearConv(a, s, z, w, s, o, s, z)
      c = MaxPool(b) kernel_shape=[2,2]
      d = QLinearConv(c, s, z, v, s, o, s, z)
      e = QLinearAdd(c, s, z, d, s, z, s, z)
      f = Lookup(e, table)
      g = QLinearGlobalAveragePool(f, s, z, s, z)
      y = DequantizeLinear(g, s, z)
      output y)"),
            "QuantizeLinear BlockedQLinearConv MaxPool BlockedQLinearConv QLinearAdd Lookup "
            "BlockedQLinearGlobalAveragePool DequantizeLinear");
}

TEST(Lower, GoesBetweenBytesAndFloatsInBlocks) {
  // Six channels fill one block and a half.
  const std::string parameters = R"(
      input x f32[1,3,9,9]
      const s f32[] = [0.02]
      const z u8[] = [128]
      const o i8[] = [0]
      const w i8[6,3,3,3] = ones
      const v f32[6,6,1,1] = random(1)
      const u i8[6,6,1,1] = ones
      a = QuantizeLinear(x, s, z)
      b = QLinearConv(a, s, z, w, s, o, s, z)
)";
  EXPECT_EQ(lowered(parameters + R"(
      c = DequantizeLinear(b, s, z)
      d = Conv(c, v)
      e = QuantizeLinear(d, s, z)
      f = QLinearConv(e, s, z, u, s, o, s, z)
      y = DequantizeLinear(f, s, z)
      output y)"),
            "QuantizeLinear BlockedQLinearConv DequantizeLinear BlockedConv QuantizeLinear "
            "BlockedQLinearConv UnblockChannels DequantizeLinear");
  // Nobody wants floats in blocks; scales of channels.
  EXPECT_EQ(lowered(parameters + "y = DequantizeLinear(b, s, z)\noutput y\n"),
            "QuantizeLinear BlockedQLinearConv UnblockChannels DequantizeLinear");
  EXPECT_EQ(lowered(parameters + R"(
      const t f32[6] = [1,2,3,4,5,6]
      c = DequantizeLinear(b, t)
      y = Conv(c, v)
      output y)"),
            "QuantizeLinear BlockedQLinearConv UnblockChannels DequantizeLinear BlockChannels "
            "BlockedConv UnblockChannels");
}

TEST(Lower, BlocksNoBytesWhoseWeightsHaveZeroPoints) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,3,9,9]
      const s f32[] = [0.02]
      const z u8[] = [128]
      const o i8[] = [1]
      const w i8[6,3,3,3] = ones
      a = QuantizeLinear(x, s, z)
      b = QLinearConv(a, s, z, w, s, o, s, z)
      y = DequantizeLinear(b, s, z)
      output y)"),
            "QuantizeLinear QLinearConv DequantizeLinear");
}

TEST(Lower, BlocksNoImageThatIsMostlyPadding) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,4,2,2]
      const s f32[] = [0.02]
      const z u8[] = [128]
      const o i8[] = [0]
      const w f32[4,4,1,1] = ones
      const v i8[4,4,1,1] = ones
      a = Conv(x, w) pads=[99999999,0,99999999,0] strides=[99999999,1]
      b = QuantizeLinear(x, s, z)
      c = QLinearConv(b, s, z, v, s, o, s, z) pads=[0,99999999,0,99999999] strides=[1,99999999]
      y = DequantizeLinear(c, s, z)
      output a
      output y)"),
            "Conv QuantizeLinear QLinearConv DequantizeLinear");
}

TEST(Lower, LetsGroupsShareBlocks) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,10,5,5]
      const w f32[10,2,3,3] = random(1)
      y = Conv(x, w) group=5
      output y)"),
            "BlockChannels BlockedConv UnblockChannels");
}

TEST(Lower, GoesBackThroughConvolutionsByConvolutions) {
  EXPECT_EQ(lowered(R"(
      input x f32[1,16,6,6]
      input w f32[16,16,3,3]
      y = ConvTranspose(x, w) pads=[1,1,1,1]
      output y)"),
            "BlockChannels TurnFilters BlockedConv UnblockChannels");
}

TEST(Lower, BlocksNoConvolutionThatGainsNothing) {
  // One output channel; groups of weights that change; groups that grow; sums of one pixel.
  EXPECT_EQ(lowered(R"(
      input x f32[1,4,5,5]
      input v f32[4,2,1,1]
      const one f32[1,4,1,1] = random(1)
      const two f32[8,2,1,1] = random(2)
      const all f32[4,4,5,5] = random(3)
      a = Conv(x, one)
      b = Conv(x, v) group=2
      c = Conv(x, two) group=2
      d = Conv(x, all)
      output a
      output b
      output c
      output d)"),
            "Conv Conv Conv Conv");
}

}  // namespace
}  // namespace shoal::cpu
