// Convolutions and pools over blocked channels, by every kernel there is, against the reference.
#include "shoal/engine/cpu/layout/blocked.h"

#include <gtest/gtest.h>

#include <limits>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

using Ints = std::vector<int64_t>;

struct Layer {
  Shape x, w;
  Attributes attributes = {};
};

std::vector<Tensor> inputs_of(const Layer& layer) {
  std::mt19937 rng(1);
  return {random_floats(rng, layer.x), random_floats(rng, layer.w),
          random_floats(rng, {layer.w[0]})};
}

Layer small_windows(Shape x, int64_t channels, Ints pads) {
  return {x, {channels, x[1], 3, 3}, {{"pads", std::move(pads)}}};
}

// Images smaller than a tile, as large as some tiles, and with a rest; channels in full blocks and
// not; padding on all sides, on some and more than the window needs.
std::vector<Layer> layers_of_small_windows() {
  return {small_windows({1, 16, 4, 4}, 16, {1, 1, 1, 1}),
          small_windows({1, 32, 14, 14}, 48, {1, 1, 1, 1}),
          small_windows({2, 37, 13, 19}, 21, {1, 1, 1, 1}),
          small_windows({1, 16, 31, 17}, 70, {0, 0, 0, 0}),
          small_windows({3, 24, 12, 24}, 16, {2, 0, 1, 3}),
          small_windows({1, 64, 40, 40}, 16, {1, 1, 1, 1}),
          small_windows({1, 19, 3, 9}, 17, {1, 1, 1, 1})};
}

TEST(Blocked, WinogradAgrees) {
  for (const Layer& layer : layers_of_small_windows()) {
    const auto inputs = inputs_of(layer);
    expect_agreement_always_by("winograd2", ops::conv, inputs, layer.attributes, 1e-5f);
    expect_agreement_always_by("winograd4", ops::conv, inputs, layer.attributes, 2e-5f);
    expect_agreement_always_by("winograd6", ops::conv, inputs, layer.attributes, 1e-4f);
  }
}

TEST(Blocked, WinogradOfWindowsOfFiveAgrees) {
  const std::vector<Layer> layers = {
      {{1, 16, 4, 4}, {16, 16, 5, 5}, {{"pads", Ints{2, 2, 2, 2}}}},
      {{1, 32, 14, 14}, {48, 32, 5, 5}, {{"pads", Ints{2, 2, 2, 2}}}},
      {{2, 37, 13, 19}, {21, 37, 5, 5}, {{"pads", Ints{2, 2, 2, 2}}}},
      {{1, 16, 31, 17}, {70, 16, 5, 5}, {}},
      {{3, 24, 12, 24}, {16, 24, 5, 5}, {{"pads", Ints{4, 0, 1, 3}}}}};
  for (const Layer& layer : layers) {
    const auto inputs = inputs_of(layer);
    expect_agreement_always_by("winograd2", ops::conv, inputs, layer.attributes, 2e-5f);
    expect_agreement_always_by("winograd4", ops::conv, inputs, layer.attributes, 1e-4f);
  }
}

TEST(Blocked, DirectConvolutionAgrees) {
  for (const Layer& layer : layers_of_small_windows()) {
    expect_agreement_always_by("direct", ops::conv, inputs_of(layer), layer.attributes);
  }
  const std::vector<Layer> others = {
      {{1, 3, 40, 52}, {64, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {{1, 3, 61, 61}, {16, 3, 7, 7}, {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}},
      {{2, 3, 67, 67}, {16, 3, 11, 11}, {{"strides", Ints{4, 4}}}},
      {{1, 1, 30, 30}, {16, 1, 5, 5}},
      {{1, 32, 28, 28}, {24, 32, 1, 1}, {{"strides", Ints{2, 2}}}},
      {{2, 300, 7, 7}, {40, 300, 1, 1}},
      {{1, 64, 57, 57}, {32, 64, 1, 1}},
      {{1, 24, 19, 23}, {17, 24, 3, 5}, {{"dilations", Ints{3, 2}}, {"pads", Ints{0, 5, 4, 1}}}},
      {{1, 16, 9, 9}, {16, 16, 3, 3}, {{"strides", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 16, 1, 3}, {16, 16, 1, 1}, {{"strides", Ints{9, 9}}, {"pads", Ints{7, 7, 7, 9}}}}};
  for (const Layer& layer : others) {
    expect_agreement_always_by("direct", ops::conv, inputs_of(layer), layer.attributes);
  }
}

TEST(Blocked, DepthwiseConvolutionAgrees) {
  for (const int64_t kernel : {1, 3, 4, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      const Ints pads(4, kernel / 2);
      const Layer layer{
          {2, 21, 14, 17},
          {21, 1, kernel, kernel},
          {{"group", int64_t{21}}, {"pads", pads}, {"strides", Ints{stride, stride}}}};
      expect_agreement_always_by("depthwise", ops::conv, inputs_of(layer), layer.attributes);
    }
  }
}

TEST(Blocked, GroupsOfFewChannelsAgree) {
  for (const int64_t each : {2, 4, 8}) {
    const int64_t channels = 7 * each;  // which do not fill all blocks
    const std::vector<Layer> layers = {
        {{2, channels, 14, 17}, {channels, each, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
        {{1, channels, 9, 9}, {channels, each, 3, 3}, {{"strides", Ints{2, 2}}}},
        {{1, channels, 5, 3}, {channels, each, 1, 1}},
        {{1, channels, 12, 30}, {channels, each, 2, 4}, {{"dilations", Ints{2, 3}}}}};
    for (Layer layer : layers) {
      layer.attributes["group"] = int64_t{7};
      // Blocks that hold one group only, or less, know no groups.
      expect_agreement(ops::conv, inputs_of(layer), layer.attributes, {"groups", "conv_gemm"});
    }
  }
}

TEST(Blocked, FewOutputChannelsAgree) {
  // Whether they are few depends on the vectors. Weights that are not constant are read as they
  // are.
  const KernelNames kernels = {"dots", "direct", "conv_gemm", "winograd2", "winograd4"};
  for (const int64_t channels : {1, 2, 3, 5, 7}) {
    const std::vector<Layer> layers = {
        {{1, 32, 14, 19}, {channels, 32, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
        {{2, 21, 9, 3}, {channels, 21, 5, 2}, {{"pads", Ints{2, 0, 1, 1}}}},
        {{1, 16, 30, 30}, {channels, 16, 4, 4}, {{"strides", Ints{2, 3}}}},
        {{1, 64, 12, 40}, {channels, 64, 3, 3}, {{"dilations", Ints{2, 3}}}}};
    for (const Layer& layer : layers) {
      expect_agreement(ops::conv, inputs_of(layer), layer.attributes, kernels);
    }
  }
}

TEST(Blocked, FewOutputChannelsOfBlocksAgree) {
  // A residual, activations in and beside the loop, and windows of one pixel.
  for (const char* activation : {"Relu", "Sigmoid"}) {
    const auto graph = parse_text(R"(
        input x f32[2,32,9,11]
        const w f32[32,32,3,3] = random(1)
        const v f32[3,32,1,1] = random(2)
        const b f32[3] = random(3)
        input r f32[2,3,7,9]
        a = Conv(x, w)
        y = FusedConv(a, v, b, r) activation=")" +
                                      std::string(activation) + R"("
        output y)",
                                  ops::find);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    expect_agreement_of(*graph, {"dots", "direct"}, 2e-5f);
  }
}

TEST(Blocked, NormalisationsAndSlicesAgree) {
  // More pixels than one part of a plane has, and a block that is not full.
  const auto graph = parse_text(R"(
      input x f32[2,21,40,41]
      const w f32[21,21,3,3] = random(1)
      const scale f32[21] = random(2)
      const bias f32[21] = random(3)
      const starts i64[2] = [1,-30]
      const ends i64[2] = [30,-2]
      const axes i64[2] = [-2,3]
      a = Conv(x, w)
      b = InstanceNormalization(a, scale, bias) epsilon=0.001
      y = Slice(b, starts, ends, axes)
      output y)",
                                ops::find);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  expect_agreement_of(*graph, "blocked");
}

TEST(Blocked, PoolsAgree) {
  // Windows that overlap, that leave pixels out, that are spread and that reach into the padding.
  for (const char* pool : {"MaxPool", "AveragePool"}) {
    for (const char* window :
         {"kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", "kernel_shape=[13,13] pads=[6,6,6,6]",
          "kernel_shape=[2,1] strides=[3,4]", "kernel_shape=[2,3] strides=[2,1] ceil_mode=1",
          "kernel_shape=[12,17]"}) {
      SCOPED_TRACE(std::string(pool) + " " + window);
      const auto graph = parse_text(R"(
          input x f32[2,21,12,17]
          const w f32[21,21,1,1] = random(1)
          a = Conv(x, w)
          y = )" + std::string(pool) + "(a) " +
                                        window + "\noutput y\n",
                                    ops::find);
      ASSERT_TRUE(graph.ok()) << graph.status().message();
      expect_agreement_of(*graph, "blocked");
    }
  }
  const auto spread = parse_text(R"(
      input x f32[1,21,12,17]
      const w f32[21,21,1,1] = random(1)
      a = Conv(x, w)
      y = MaxPool(a) kernel_shape=[3,2] dilations=[2,3] pads=[2,0,1,1]
      output y)",
                                 ops::find);
  ASSERT_TRUE(spread.ok()) << spread.status().message();
  expect_agreement_of(*spread, "blocked");
}

TEST(Blocked, PoolsLetNoNumberWin) {
  const auto graph = parse_text(R"(
      input x f32[1,16,12,17]
      const w f32[16,16,1,1] = random(1)
      a = Conv(x, w)
      b = MaxPool(a) kernel_shape=[3,3]
      y = IsNaN(b)
      output y)",
                                ops::find);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::mt19937 rng(1);
  Tensor x = random_floats(rng, {1, 16, 12, 17});
  // Apart, so that each place in a window has its turn.
  for (const size_t pixel : std::initializer_list<size_t>{40, 90, 131}) {
    x.data<float>()[pixel] = std::numeric_limits<float>::quiet_NaN();
  }
  expect_agreement_of(*graph, {x}, KernelNames());
}

TEST(Blocked, ScaledClampsAgree) {
  // Behind every kind of convolution; scales of both signs, and channels that do not fill a block.
  const Layer layers[] = {
      {{1, 3, 12, 14}, {21, 3, 3, 3}},
      {{2, 21, 9, 19}, {21, 21, 1, 1}},
      {{1, 21, 15, 13}, {21, 21, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {{1, 21, 15, 18}, {21, 1, 3, 3}, {{"group", int64_t{21}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 24, 9, 13}, {24, 4, 3, 3}, {{"group", int64_t{6}}}}};
  for (const Layer& layer : layers) {
    for (const char* activation : {"Relu", "LeakyRelu"}) {
      Attributes attributes = layer.attributes;
      attributes["activation"] = std::string(activation);
      std::mt19937 rng(1);
      const auto per_channel = [&] { return random_floats(rng, {layer.w[0]}); };
      Tensor variance = per_channel();
      for (float& x : variance.data<float>()) x = 1 + x * x;
      Graph graph;
      const ValueId x = graph.add_input("x", {DType::kF32, layer.x});
      const ValueId w = graph.add_constant("w", random_floats(rng, layer.w));
      const ValueId b = graph.add_constant("b", per_channel());
      const ValueId a = *graph.add(ops::fused_conv, {x, w, b}, attributes);
      std::vector<ValueId> inputs{a};
      for (const char* name : {"gamma", "beta", "mean"}) {
        inputs.push_back(graph.add_constant(name, per_channel()));
      }
      inputs.push_back(graph.add_constant("variance", variance));
      graph.mark_output(*graph.add(ops::batch_normalization, inputs));
      expect_agreement_of(graph, KernelNames(), 2e-5f);
    }
  }
}

TEST(Blocked, ResidualsAndActivationsAgree) {
  const Layer layer = small_windows({2, 32, 15, 15}, 40, {1, 1, 1, 1});
  std::vector<Tensor> inputs = inputs_of(layer);
  std::mt19937 rng(2);
  inputs.push_back(random_floats(rng, {2, 40, 15, 15}));
  for (const char* activation : {"", "Relu", "LeakyRelu", "Sigmoid"}) {
    Attributes attributes = layer.attributes;
    if (*activation != '\0') attributes["activation"] = std::string(activation);
    for (const char* kernel : {"direct", "winograd2", "winograd4"}) {
      expect_agreement_by(kernel, ops::fused_conv, inputs, attributes, 2e-5f);
    }
  }
}

// Blocks whose last is hardly filled, filled to a half or a little more, and no full block at all,
// whatever the size of a block is.
TEST(Blocked, PartlyFilledBlocksAgree) {
  const std::vector<std::pair<int64_t, int64_t>> widths = {{8, 8},   {9, 10},  {13, 8}, {17, 33},
                                                           {24, 24}, {25, 49}, {40, 56}};
  for (const auto& [in, out] : widths) {
    const Layer layer = small_windows({1, in, 18, 21}, out, {1, 1, 1, 1});
    std::vector<Tensor> inputs = inputs_of(layer);
    for (const char* kernel : {"direct", "winograd2", "winograd4"}) {
      expect_agreement_always_by(kernel, ops::conv, inputs, layer.attributes, 2e-5f);
    }
    expect_agreement_always_by("winograd6", ops::conv, inputs, layer.attributes, 1e-4f);
    std::mt19937 rng(2);
    inputs.push_back(random_floats(rng, {1, out, 18, 21}));
    for (const char* activation : {"Relu", "LeakyRelu"}) {
      Attributes attributes = layer.attributes;
      attributes["activation"] = std::string(activation);
      for (const char* kernel : {"direct", "winograd4"}) {
        expect_agreement_by(kernel, ops::fused_conv, inputs, attributes, 2e-5f);
      }
    }
  }
}

// As one row of pixels, in which no thread writes what another does.
TEST(Blocked, PointwisePartlyFilledBlocksAgree) {
  for (const int64_t out : {8, 17, 24, 26, 37, 56}) {
    for (const Shape& x : {Shape{1, 33, 1, 5}, Shape{2, 100, 29, 31}}) {
      const Layer layer{x, {out, x[1], 1, 1}};
      expect_agreement_always_by("direct", ops::conv, inputs_of(layer), layer.attributes);
    }
  }
}

}  // namespace
}  // namespace shoal::cpu
