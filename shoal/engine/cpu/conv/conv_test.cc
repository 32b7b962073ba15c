#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

using Ints = std::vector<int64_t>;

// Without blocks of channels, and with them.
const KernelNames kProduct = {"conv_gemm", "direct", "winograd2", "winograd4", "winograd6"};

struct Layer {
  Shape x, w;
  Attributes attributes = {};
};

void expect_conv(const Layer& layer, const KernelNames& kernels) {
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs = {random_floats(rng, layer.x), random_floats(rng, layer.w),
                                      random_floats(rng, {layer.w[0]})};
  expect_agreement(ops::conv, inputs, layer.attributes, kernels);
}

TEST(Conv, AgreesOnTheLayersOfKnownNetworks) {
  const Ints same = {1, 1, 1, 1};
  expect_conv({{1, 3, 40, 52}, {64, 3, 3, 3}, {{"pads", same}}}, kProduct);
  expect_conv({{2, 64, 14, 14}, {37, 64, 3, 3}, {{"pads", same}}}, kProduct);
  expect_conv(
      {{1, 3, 61, 61}, {16, 3, 7, 7}, {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}},
      kProduct);
  expect_conv({{1, 3, 67, 67}, {16, 3, 11, 11}, {{"strides", Ints{4, 4}}}}, kProduct);
  expect_conv({{1, 32, 28, 28}, {24, 32, 1, 1}, {{"strides", Ints{2, 2}}}}, kProduct);
}

TEST(Conv, AgreesOnPointwiseLayers) {
  expect_conv({{1, 300, 7, 7}, {40, 300, 1, 1}}, kProduct);
  expect_conv({{3, 16, 31, 17}, {9, 16, 1, 1}}, kProduct);
}

TEST(Conv, AgreesInGroupsDilatedAndUnevenlyPadded) {
  expect_conv({{2, 12, 19, 23}, {16, 3, 3, 3}, {{"group", int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}}},
              kProduct);
  expect_conv({{1, 5, 19, 23},
               {7, 5, 3, 5},
               {{"dilations", Ints{3, 2}}, {"pads", Ints{0, 5, 4, 1}}, {"strides", Ints{1, 3}}}},
              kProduct);
  expect_conv({{1, 2, 5, 5}, {3, 2, 3, 3}, {{"pads", Ints{9, 9, 9, 9}}}}, kProduct);
}

// The kernel of small groups, where it is asked for, leaves the one group of a small image alone.
TEST(Conv, AgreesInOneGroup) {
  std::mt19937 rng(1);
  for (const int64_t channels : {2, 4, 8}) {
    expect_agreement_by(
        "groups", ops::conv,
        {random_floats(rng, {1, channels, 9, 11}), random_floats(rng, {channels, channels, 3, 3})},
        {}, 1e-5f, kProduct);
  }
}

TEST(Conv, AgreesOnSingleChannels) {
  for (const int64_t size : {7, 14, 40}) {
    for (const int64_t kernel : {1, 3, 4, 5}) {
      for (const int64_t stride : {1, 2, 3}) {
        const int64_t pad = kernel / 2;
        expect_conv({{2, 6, size, size + 3},
                     {6, 1, kernel, kernel},
                     {{"group", int64_t{6}},
                      {"pads", Ints{pad, pad, pad, pad}},
                      {"strides", Ints{stride, stride}}}},
                    "depthwise");
      }
    }
  }
  expect_conv({{1, 3, 9, 50}, {6, 1, 3, 3}, {{"group", int64_t{3}}, {"dilations", Ints{2, 3}}}},
              "depthwise");
  expect_conv({{1, 3, 5, 9, 50}, {3, 1, 3, 3, 3}, {{"group", int64_t{3}}}}, "depthwise");
}

TEST(Conv, AgreesOnWholeImages) {
  // As wide as the image, but spread beyond it.
  expect_conv({{1, 4, 3}, {5, 4, 3}, {{"dilations", Ints{2}}, {"pads", Ints{0, 2}}}}, "conv_gemm");
  expect_conv({{1, 32, 7, 7}, {70, 32, 7, 7}}, "conv_gemv");
  expect_conv({{3, 100, 1, 1}, {33, 100, 1, 1}}, "conv_gemv");
}

TEST(Conv, AgreesOnOneAndThreeAxes) {
  expect_conv({{2, 6, 101}, {10, 6, 9}, {{"pads", Ints{4, 4}}}}, kProduct);
  expect_conv({{1, 3, 6, 14, 14}, {8, 3, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1, 1, 1}}}}, kProduct);
}

}  // namespace
}  // namespace shoal::cpu
