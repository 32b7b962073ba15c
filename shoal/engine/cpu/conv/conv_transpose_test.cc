// Transposed convolutions, of channels in blocks and in planes, against the reference.
#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
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
  const auto group = layer.attributes.find("group");
  const int64_t groups = group == layer.attributes.end() ? 1 : std::get<int64_t>(group->second);
  return {random_floats(rng, layer.x), random_floats(rng, layer.w),
          random_floats(rng, {layer.w[1] * groups})};
}

Attributes window(Ints strides, Ints pads, Ints dilations = {1, 1}, Ints output_padding = {0, 0}) {
  return {{"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", std::move(dilations)},
          {"output_padding", std::move(output_padding)}};
}

// Strides below, equal to and beyond the kernel; dilations that share a factor with the stride, so
// that some phases have no tap, and that do not; padding less and more than the kernel needs.
std::vector<Layer> layers_in_phases() {
  return {
      {{1, 32, 9, 11}, {32, 16, 3, 3}, window({2, 2}, {0, 0, 0, 0})},
      {{2, 16, 8, 8}, {16, 48, 4, 4}, window({2, 2}, {1, 1, 1, 1})},
      {{1, 21, 7, 30}, {21, 37, 3, 5}, window({1, 2}, {1, 0, 0, 2}, {1, 1}, {0, 1})},
      {{1, 16, 6, 6}, {16, 16, 2, 2}, window({2, 2}, {0, 0, 0, 0})},
      {{1, 16, 5, 9}, {16, 32, 2, 3}, window({3, 4}, {0, 1, 1, 0}, {1, 1}, {2, 3})},
      {{1, 16, 9, 9}, {16, 16, 3, 3}, window({2, 3}, {1, 2, 0, 1}, {2, 2})},
      {{1, 24, 8, 5}, {24, 16, 3, 3}, window({1, 1}, {1, 1, 1, 1})},
      {{1, 40, 6, 6}, {40, 16, 5, 5}, window({3, 3}, {4, 3, 4, 5})},
      {{3, 16, 5, 6}, {16, 16, 3, 3}, {{"strides", Ints{2, 2}}, {"output_shape", Ints{12, 9}}}}};
}

TEST(ConvTranspose, AgreesInPhases) {
  for (const Layer& layer : layers_in_phases()) {
    expect_agreement_by("phases", ops::conv_transpose, inputs_of(layer), layer.attributes);
  }
}

// More than 256 taps: columns of the product that are no multiple of a cache line.
TEST(ConvTranspose, AgreesOnLargeWindows) {
  const Layer layer{{1, 4, 20, 20}, {4, 2, 17, 17}, {{"group", int64_t{2}}}};
  expect_agreement(ops::conv_transpose, inputs_of(layer), layer.attributes, "scatter");
}

TEST(ConvTranspose, AgreesInPhasesOfWeightsOfEachRun) {
  for (const Layer& layer : layers_in_phases()) {
    // Of stride 1 it is a convolution.
    expect_agreement(ops::conv_transpose, inputs_of(layer), layer.attributes,
                     {"phases", "direct", "winograd2", "winograd4", "winograd6"}, 2e-5f);
  }
}

TEST(ConvTranspose, AgreesAsConvolutionOfTurnedFilters) {
  const std::vector<Layer> layers = {
      {{2, 16, 9, 8}, {16, 32, 3, 3}, window({1, 1}, {1, 1, 1, 1})},
      {{1, 21, 7, 9}, {21, 37, 5, 4}, window({1, 1}, {2, 0, 1, 3})},
      {{1, 16, 12, 12}, {16, 16, 3, 3}, window({1, 1}, {0, 2, 1, 0}, {2, 3}, {1, 2})},
      {{1, 32, 6, 6}, {32, 20, 1, 1}, window({1, 1}, {0, 0, 0, 0})}};
  for (const Layer& layer : layers) {
    expect_agreement(ops::conv_transpose, inputs_of(layer), layer.attributes,
                     {"phases", "direct", "winograd2", "winograd4", "winograd6"}, 2e-5f);
  }
}

TEST(ConvTranspose, AgreesAsDepthwiseConvolution) {
  for (const int64_t kernel : {2, 3, 5}) {
    Layer layer{{2, 37, 9, 8}, {37, 1, kernel, kernel}, window({1, 1}, {1, 0, 1, 1})};
    layer.attributes["group"] = int64_t{37};
    // Where weights are constant, they are scattered.
    expect_agreement(ops::conv_transpose, inputs_of(layer), layer.attributes,
                     {"depthwise", "scatter"});
  }
}

TEST(ConvTranspose, AgreesWithResidualsAndActivations) {
  const std::pair<Layer, Shape> layers[] = {
      {{{2, 16, 9, 8}, {16, 40, 4, 4}, window({2, 2}, {1, 1, 1, 1})}, {2, 40, 18, 16}},
      {{{2, 16, 9, 8}, {16, 40, 3, 3}, window({1, 1}, {1, 1, 1, 1})}, {2, 40, 9, 8}}};
  for (const auto& [layer, residual] : layers) {
    std::vector<Tensor> inputs = inputs_of(layer);
    std::mt19937 rng(2);
    inputs.push_back(random_floats(rng, residual));
    for (const char* activation : {"", "Relu", "Sigmoid"}) {
      Attributes attributes = layer.attributes;
      if (*activation != '\0') attributes["activation"] = std::string(activation);
      expect_agreement(ops::fused_conv_transpose, inputs, attributes,
                       {"phases", "direct", "winograd2", "winograd4", "winograd6"}, 2e-5f);
    }
  }
}

TEST(ConvTranspose, AgreesInPlanes) {
  const std::vector<Layer> layers = {
      {{1, 64, 5, 5}, {64, 3, 4, 4}, window({2, 2}, {1, 1, 1, 1})},
      {{2, 12, 30, 30},
       {12, 2, 3, 3},
       {{"group", int64_t{4}}, {"strides", Ints{2, 3}}, {"dilations", Ints{3, 2}}}},
      {{1, 8, 7, 9}, {8, 1, 4, 4}, {{"group", int64_t{8}}, {"strides", Ints{2, 2}}}},
      {{1, 100, 1, 1}, {100, 64, 4, 4}},
      {{1, 6, 700}, {6, 3, 9}, {{"strides", Ints{4}}, {"pads", Ints{3, 2}}}},
      {{1, 5, 4, 6, 7},
       {5, 4, 2, 3, 3},
       {{"strides", Ints{2, 1, 2}}, {"output_padding", Ints{1, 0, 1}}}},
      {{1, 2, 3, 3}, {2, 1, 40, 41}, window({1, 1}, {20, 9, 0, 30})}};
  for (const Layer& layer : layers) {
    // Where vectors are short, some have blocks too.
    expect_agreement(ops::conv_transpose, inputs_of(layer), layer.attributes,
                     {"scatter", "phases", "direct"});
  }
}

}  // namespace
}  // namespace shoal::cpu
