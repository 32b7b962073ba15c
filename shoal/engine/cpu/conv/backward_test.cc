// What training asks of blocked channels, against the reference: gradients of weights, pools and
// Relu, and batches that are normalised by what they are.
#include <gtest/gtest.h>

#include <limits>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/window.h"

namespace shoal::cpu {
namespace {

using Ints = std::vector<int64_t>;

int64_t draw(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}
Ints draw_two(std::mt19937& rng, int64_t low, int64_t high) {
  const int64_t first = draw(rng, low, high), second = draw(rng, low, high);
  return {first, second};
}

struct Layer {
  Shape x;
  int64_t out;
  Ints kernel, strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  int64_t groups = 1;
};

// One node with weights and bias from an image and a random dy.
void expect_weights_agree(const Layer& layer, const KernelNames& kernels) {
  Graph graph;
  const Attributes attributes{{"kernel_shape", layer.kernel},
                              {"strides", layer.strides},
                              {"pads", layer.pads},
                              {"dilations", layer.dilations},
                              {"group", layer.groups}};
  const ValueId x = graph.add_input("x", {DType::kF32, layer.x});
  const Shape w{layer.out, layer.x[1] / layer.groups, layer.kernel[0], layer.kernel[1]};
  const ops::Window window = ops::window_of(Node{&ops::conv, {}, {}, attributes, {}}, layer.x, w);
  const ValueId dy =
      graph.add_input("dy", {DType::kF32, window.output_shape(layer.x[0], layer.out)});
  const auto outputs =
      graph.add_node(ops::conv_weights_backward, {x, dy}, attributes, {"dw", "db"}, "");
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  for (ValueId id : *outputs) graph.mark_output(id);
  expect_agreement_of(graph, kernels);
}

TEST(ConvWeightsBackward, Agrees) {
  const std::vector<Layer> layers = {
      {{5, 16, 9, 9}, 16, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {{2, 37, 21, 30}, 24, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {{3, 20, 12, 12}, 50, {5, 5}},
      {{3, 16, 17, 13}, 32, {3, 3}, {2, 2}, {1, 1, 1, 1}},
      {{2, 24, 19, 23}, 17, {3, 5}, {1, 2}, {0, 5, 4, 1}, {3, 2}},
      {{2, 32, 8, 7}, 16, {1, 1}},
      {{4, 3, 32, 32}, 32, {5, 5}, {1, 1}, {2, 2, 2, 2}},  // few channels, as they are
      {{3, 1, 28, 28}, 20, {5, 5}},
      {{1, 3, 35, 35}, 16, {11, 11}, {4, 4}, {2, 2, 2, 2}},
      {{2, 4, 9, 9}, 16, {3, 3}, {1, 1}, {2, 0, 1, 3}, {2, 2}}};
  for (const Layer& layer : layers) expect_weights_agree(layer, "sums");
}

TEST(ConvWeightsBackward, AgreesOnRandomWindows) {
  std::mt19937 rng(7);
  for (int i = 0; i < 12; ++i) {
    const int64_t n = draw(rng, 1, 5), in = draw(rng, 1, 40), out = draw(rng, 16, 40);
    const Ints size = draw_two(rng, 9, 24), kernel = draw_two(rng, 1, 4);
    const Ints strides = draw_two(rng, 1, 3), dilations = draw_two(rng, 1, 2);
    const Ints before = draw_two(rng, 0, 3), after = draw_two(rng, 0, 3);
    const Layer layer{{n, in, size[0], size[1]},
                      out,
                      kernel,
                      strides,
                      {before[0], before[1], after[0], after[1]},
                      dilations};
    expect_weights_agree(layer, "sums");
  }
}

TEST(ConvWeightsBackward, AgreesDepthwise) {
  for (const int64_t kernel : {1, 3, 4}) {
    for (const int64_t stride : {1, 2}) {
      expect_weights_agree(
          {{3, 37, 9, 14}, 37, {kernel, 3}, {stride, 1}, {1, 0, 2, 1}, {1, stride}, 37},
          "depthwise");
    }
  }
}

TEST(ConvWeightsBackward, AgreesInGroupsAndFewChannels) {
  std::mt19937 rng(1);
  const Tensor x = random_floats(rng, {2, 8, 9, 9}), dy = random_floats(rng, {2, 4, 7, 7});
  expect_agreement(ops::conv_weights_backward, {x, dy},
                   {{"kernel_shape", Ints{3, 3}}, {"group", int64_t{4}}}, {});
  const Tensor one = random_floats(rng, {2, 1, 7, 7});
  expect_agreement(ops::conv_weights_backward, {x, one}, {{"kernel_shape", Ints{3, 3}}}, {});
}

// Of a window over [2, channels, 13, 10], and of the random numbers that come back.
struct Pool {
  int64_t channels;
  Attributes attributes;

  Shape image() const { return {2, channels, 13, 10}; }
  Shape output() const {
    const ops::Window window =
        ops::window_of(Node{&ops::max_pool, {}, {}, attributes, {}}, image());
    return window.output_shape(2, channels);
  }
};

std::vector<Pool> pools() {
  return {
      {16, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
      {37, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}}},
      {20, {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{2, 1, 1, 0}}, {"dilations", Ints{2, 1}}}},
      {16, {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{3, 2}}, {"ceil_mode", int64_t{1}}}}};
}

TEST(PoolBackward, GivesToTheLargest) {
  std::mt19937 rng(1);
  for (const Pool& pool : pools()) {
    Tensor x = random_floats(rng, pool.image());
    for (float& element : x.data<float>()) element = std::round(3 * element);  // some are equal
    const Tensor dy = random_floats(rng, pool.output());
    expect_agreement(ops::max_pool_backward, {x, dy}, pool.attributes, "blocked");
  }
}

TEST(PoolBackward, GivesToTheFirstNaN) {
  std::mt19937 rng(1);
  for (const Pool& pool : pools()) {
    Tensor x = random_floats(rng, pool.image());
    for (float& element : x.data<float>()) {
      if (rng() % 3 == 0) element = std::numeric_limits<float>::quiet_NaN();
    }
    const Tensor dy = random_floats(rng, pool.output());
    expect_agreement(ops::max_pool_backward, {x, dy}, pool.attributes, "blocked");
  }
}

TEST(PoolBackward, GivesEvenly) {
  std::mt19937 rng(1);
  for (Pool pool : pools()) {
    const Tensor dy = random_floats(rng, pool.output());
    pool.attributes["image"] = Ints{13, 10};
    for (const int64_t padding : {0, 1}) {
      pool.attributes["count_include_pad"] = padding;
      expect_agreement(ops::average_pool_backward, {dy}, pool.attributes, "blocked");
    }
  }
}

TEST(ReluBackward, Agrees) {
  std::mt19937 rng(1);
  for (const Shape& shape : {Shape{2, 20, 7, 9}, Shape{1000}, Shape{1}}) {
    Tensor y = random_floats(rng, shape);
    for (float& element : y.data<float>()) element = std::max(element, 0.0f);
    expect_agreement(ops::relu_backward, {y, random_floats(rng, shape)}, {}, "vector");
  }
}

// A node of three outputs: of the image's type, and two of its parameters'.
void expect_normalization_agrees(const Operator& op, const std::vector<Tensor>& inputs,
                                 const Attributes& attributes) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) ids.push_back(graph.add_input("x", input.type()));
  const auto outputs = graph.add_node(op, ids, attributes, {"a", "b", "c"}, "");
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  for (ValueId id : *outputs) graph.mark_output(id);
  expect_agreement_of(graph, inputs, "blocked");
}

TEST(BatchNormalization, AgreesWhileItTrains) {
  std::mt19937 rng(1);
  for (const Shape& shape : {Shape{3, 16, 5, 7}, Shape{1, 20, 24, 40}, Shape{6, 37, 1, 3}}) {
    Tensor x = random_floats(rng, shape);
    for (float& element : x.data<float>()) element += 5;  // a mean far from zero
    const Tensor scale = random_floats(rng, {shape[1]}), bias = random_floats(rng, {shape[1]});
    const Tensor mean = random_floats(rng, {shape[1]}), variance = random_floats(rng, {shape[1]});
    expect_normalization_agrees(ops::batch_normalization, {x, scale, bias, mean, variance},
                                {{"training_mode", int64_t{1}}, {"momentum", 0.7f}});
    const Tensor dy = random_floats(rng, shape);
    expect_normalization_agrees(ops::batch_normalization_backward, {x, scale, dy},
                                {{"epsilon", 1e-3f}});
  }
}

// Sums of a whole plane in float would be wrong in the fourth digit.
TEST(BatchNormalization, AgreesOnALargeImageFarFromZero) {
  std::mt19937 rng(1);
  const Shape shape{1, 16, 500, 500};
  Tensor x = random_floats(rng, shape);
  for (float& element : x.data<float>()) element += 20;
  const Tensor scale = random_floats(rng, {16}), zeros({DType::kF32, {16}});
  expect_normalization_agrees(ops::batch_normalization, {x, scale, zeros, zeros, zeros},
                              {{"training_mode", int64_t{1}}});
  expect_normalization_agrees(ops::batch_normalization_backward,
                              {x, scale, random_floats(rng, shape)}, {{"epsilon", 1e-3f}});
}

}  // namespace
}  // namespace shoal::cpu
