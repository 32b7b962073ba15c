// Kernels of quantised operators against the reference: not one bit may differ.
#include <gtest/gtest.h>

#include <limits>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/engine/cpu/quantized/byte_loops.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

using Ints = std::vector<int64_t>;

Tensor scale(float value) { return Tensor::of<float>({}, {value}); }

Tensor zero_point(DType dtype, int value) {
  return ops::converted(Tensor::of<int32_t>({}, {value}), dtype);
}

struct Layer {
  Shape x, w;
  Attributes attributes = {};
  DType image = DType::kU8, result = DType::kU8, weights = DType::kI8;
};

// Scales so that results spread over the bytes, and some beyond them.
std::vector<Tensor> inputs_of(const Layer& layer) {
  std::mt19937 rng(1);
  Tensor scales({DType::kF32, {layer.w[0]}}), bias({DType::kI32, {layer.w[0]}});
  for (float& s : scales.data<float>()) s = 0.5f + static_cast<float>(rng() % 100) / 100;
  for (int32_t& b : bias.data<int32_t>()) b = static_cast<int32_t>(rng() % 20001) - 10000;
  const auto depth = static_cast<float>(layer.w.count(1, layer.w.rank()));
  Tensor zeros({layer.weights, {layer.w[0]}});
  if (layer.weights == DType::kU8) std::ranges::fill(zeros.data<uint8_t>(), uint8_t{128});
  return {random_bytes(rng, layer.image, layer.x),
          scale(0.5f),
          zero_point(layer.image, layer.image == DType::kU8 ? 117 : -5),
          random_bytes(rng, layer.weights, layer.w),
          scales,
          zeros,
          scale(40 * std::sqrt(depth)),
          zero_point(layer.result, 7),
          bias};
}

void add_residual(std::vector<Tensor>& inputs, const Shape& shape) {
  std::mt19937 rng(2);
  const DType dtype = inputs[7].dtype();
  for (const Tensor& t : {random_bytes(rng, dtype, shape), scale(30), zero_point(dtype, 11),
                          scale(70), zero_point(dtype, 3)}) {
    inputs.push_back(t);
  }
}

bool is_here(ByteDot dot) { return !byte_tiles(dot).sizes.empty(); }

void expect_conv(const Operator& op, const std::vector<Tensor>& inputs,
                 const Attributes& attributes) {
  if (is_here(ByteDot::kOctets)) {
    expect_agreement_by("direct_octets", op, inputs, attributes, 0, {"direct_quads", "reference"});
  }
  expect_agreement_by("direct_quads", op, inputs, attributes, 0, {"direct_pairs", "reference"});
  expect_agreement_by("direct_pairs", op, inputs, attributes, 0, {"reference"});
}

// Images smaller than a tile, as large as some, and with a rest; channels in full blocks and not;
// padding on all sides, on some and more than the window needs; windows of all kinds.
std::vector<Layer> layers() {
  return {
      {{1, 16, 4, 4}, {16, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {{1, 32, 14, 14}, {48, 32, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {{2, 37, 13, 19}, {21, 37, 3, 3}, {{"pads", Ints{2, 0, 1, 3}}}},
      {{1, 3, 40, 52}, {64, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}},
      {{1, 3, 61, 61}, {16, 3, 7, 7}, {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}},
      {{2, 1, 30, 30}, {5, 1, 5, 5}},
      {{1, 32, 28, 28}, {24, 32, 1, 1}, {{"strides", Ints{2, 2}}}},
      {{2, 300, 7, 7}, {70, 300, 1, 1}},
      {{1, 64, 57, 57}, {32, 64, 1, 1}},
      {{3, 70, 1, 1}, {33, 70, 1, 1}},
      {{1, 24, 19, 23}, {17, 24, 3, 5}, {{"dilations", Ints{3, 2}}, {"pads", Ints{0, 5, 4, 1}}}}};
}

TEST(QuantizedConv, Agrees) {
  for (const Layer& layer : layers()) {
    expect_conv(ops::q_linear_conv, inputs_of(layer), layer.attributes);
  }
}

TEST(QuantizedConv, AgreesOnAllTypes) {
  const Layer layer{{1, 20, 9, 9}, {18, 20, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
  for (DType image : {DType::kU8, DType::kI8}) {
    for (DType result : {DType::kU8, DType::kI8}) {
      for (DType weights : {DType::kU8, DType::kI8}) {
        Layer typed = layer;
        typed.image = image;
        typed.result = result;
        typed.weights = weights;
        expect_conv(ops::q_linear_conv, inputs_of(typed), layer.attributes);
      }
    }
  }
}

TEST(QuantizedConv, AgreesWithResidualsAndBounds) {
  for (DType result : {DType::kU8, DType::kI8}) {
    Layer layer{{2, 32, 15, 15}, {40, 32, 1, 1}};
    layer.result = result;
    std::vector<Tensor> inputs = inputs_of(layer);
    const Attributes bounds{{"low", int64_t{10}}, {"high", int64_t{90}}};
    expect_conv(ops::fused_q_linear_conv, inputs, bounds);
    add_residual(inputs, {2, 40, 15, 15});
    expect_conv(ops::fused_q_linear_conv, inputs, {});
    expect_conv(ops::fused_q_linear_conv, inputs, bounds);
  }
}

// Scales beyond one take sums out of the range of 32 bits.
TEST(QuantizedConv, SaturatesWhateverTheScale) {
  const Layer layer{{1, 16, 8, 8}, {16, 16, 1, 1}};
  std::vector<Tensor> inputs = inputs_of(layer);
  inputs[6] = scale(1e-20f);
  expect_conv(ops::q_linear_conv, inputs, {});
}

// Sums of 0 times an infinite scale.
TEST(QuantizedConv, MakesNothingOfNaN) {
  const Layer layer{{1, 16, 8, 8}, {16, 16, 1, 1}};
  std::vector<Tensor> inputs = inputs_of(layer);
  std::ranges::fill(inputs[0].data<uint8_t>(), uint8_t{117});
  std::ranges::fill(inputs[8].data<int32_t>(), 0);
  inputs[1] = scale(std::numeric_limits<float>::infinity());
  expect_conv(ops::q_linear_conv, inputs, {});
}

TEST(QuantizedConv, LeavesWeightsWithZeroPointsToTheReference) {
  std::vector<Tensor> inputs = inputs_of({{1, 16, 8, 8}, {16, 16, 1, 1}});
  inputs[5] = zero_point(DType::kI8, 1);
  expect_agreement(ops::q_linear_conv, inputs, {}, "reference");
}

TEST(QuantizedConv, TakesTheDotProductWhereThereIsOne) {
  const std::vector<Tensor> inputs = inputs_of({{1, 16, 8, 8}, {16, 16, 1, 1}});
  Graph graph;
  std::vector<ValueId> ids{graph.add_input("x", inputs[0].type())};
  for (size_t i = 1; i < inputs.size(); ++i) ids.push_back(graph.add_constant("w", inputs[i]));
  graph.mark_output(*graph.add(ops::q_linear_conv, ids));
  const auto device = make_cpu_device();
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok());
  EXPECT_EQ((*executable)->kernel_of(1).name, is_here(ByteDot::kOctets)  ? "direct_octets"
                                              : is_here(ByteDot::kQuads) ? "direct_quads"
                                                                         : "direct_pairs");
}

TEST(QuantizedConv, AgreesOnSingleChannels) {
  for (const int64_t kernel : {1, 3, 4, 5, 9}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t width : {4, 9, 17}) {
        Layer layer{{2, 21, 8, width},
                    {21, 1, kernel, kernel},
                    {{"group", int64_t{21}},
                     {"pads", Ints(4, kernel / 2)},
                     {"strides", Ints{stride, stride}}}};
        layer.image = stride == 2 ? DType::kI8 : DType::kU8;
        expect_agreement_by("depthwise", ops::q_linear_conv, inputs_of(layer), layer.attributes, 0,
                            {"reference"});
      }
    }
  }
}

TEST(QuantizedConv, AgreesOnSingleChannelsWithDilationsAndResiduals) {
  const Layer layer{{1, 16, 12, 12},
                    {16, 1, 3, 3},
                    {{"group", int64_t{16}}, {"dilations", Ints{2, 2}}, {"low", int64_t{20}}}};
  std::vector<Tensor> inputs = inputs_of(layer);
  add_residual(inputs, {1, 16, 8, 8});
  expect_agreement_by("depthwise", ops::fused_q_linear_conv, inputs, layer.attributes, 0,
                      {"reference"});
}

TEST(QuantizedGemm, Agrees) {
  std::mt19937 rng(3);
  struct Case {
    int64_t m, k, n;
    DType a, b;
    bool is_real;
  };
  for (const Case& c : {Case{1, 300, 70, DType::kU8, DType::kI8, false},
                        Case{1, 64, 3, DType::kI8, DType::kI8, true},
                        Case{3, 17, 33, DType::kU8, DType::kU8, false},
                        Case{9, 130, 20, DType::kI8, DType::kU8, false},
                        Case{4, 1, 1, DType::kU8, DType::kI8, true}}) {
    for (const bool turned : {false, true}) {
      std::vector<Tensor> inputs{random_bytes(rng, c.a, {c.m, c.k}),
                                 scale(0.5f),
                                 zero_point(c.a, 7),
                                 random_bytes(rng, c.b, turned ? Shape{c.n, c.k} : Shape{c.k, c.n}),
                                 random_floats(rng, {c.n}),
                                 random_bytes(rng, c.b, {c.n}),
                                 Tensor({DType::kI32, {c.n}})};
      if (!c.is_real) inputs.insert(inputs.end(), {scale(999), zero_point(DType::kI8, 3)});
      expect_agreement_by("dots", ops::q_gemm, inputs, {{"transB", int64_t{turned}}}, 0);
    }
  }
}

TEST(QuantizedElements, Agree) {
  std::mt19937 rng(4);
  for (DType dtype : {DType::kU8, DType::kI8}) {
    for (int64_t count : {1, 15, 64, 1001}) {
      const Tensor a = random_bytes(rng, dtype, {count}), b = random_bytes(rng, dtype, {count});
      const Tensor zero = zero_point(dtype, 12);
      expect_agreement_by("vector", ops::q_linear_add,
                          {a, scale(0.3f), zero, b, scale(0.7f), zero, scale(0.9f), zero},
                          {{"low", int64_t{3}}}, 0);
      expect_agreement_by("vector", ops::dequantize_linear, {a, scale(0.3f), zero}, {}, 0);
      expect_agreement_by("vector", ops::quantize_linear,
                          {random_floats(rng, {count}), scale(0.003f), zero}, {}, 0);
      expect_agreement_by("table", ops::lookup, {a, random_bytes(rng, DType::kI8, {256})}, {}, 0);
    }
  }
}

TEST(QuantizedElements, MakeNothingOfNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({2}, {nan, std::numeric_limits<float>::infinity()});
  for (DType dtype : {DType::kU8, DType::kI8}) {
    expect_agreement_by("vector", ops::quantize_linear, {x, scale(1), zero_point(dtype, 5)}, {}, 0);
  }
}

// Behind a convolution, so that their image is in blocks.
TEST(QuantizedPools, Agree) {
  for (DType dtype : {DType::kU8, DType::kI8}) {
    Layer layer{{2, 16, 12, 11}, {21, 16, 1, 1}};
    layer.result = dtype;
    const std::vector<Tensor> inputs = inputs_of(layer);
    Graph graph;
    std::vector<ValueId> ids{graph.add_input("x", inputs[0].type())};
    for (size_t i = 1; i < inputs.size(); ++i) ids.push_back(graph.add_constant("w", inputs[i]));
    const ValueId y = *graph.add(ops::q_linear_conv, ids);
    graph.mark_output(*graph.add(
        ops::max_pool, {y},
        {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 1}}}));
    const ValueId s = graph.add_constant("s", scale(0.3f)),
                  t = graph.add_constant("t", scale(0.5f));
    const ValueId z = graph.add_constant("z", zero_point(dtype, 9));
    graph.mark_output(*graph.add(ops::q_linear_global_average_pool, {y, s, z, t, z}));
    expect_agreement_of(graph, {inputs[0]}, {"blocked_bytes", "reference"});
  }
}

TEST(QuantizedPools, AddUpMoreThan32BitsHold) {
  Graph graph;
  Tensor image({DType::kU8, {1, 1, 2903, 2903}});
  std::ranges::fill(image.data<uint8_t>(), uint8_t{255});
  const ValueId x = graph.add_input("x", image.type()), one = graph.add_constant("s", scale(1));
  const ValueId zero = graph.add_constant("z", zero_point(DType::kU8, 0));
  const ValueId w = graph.add_constant("w", Tensor::of<int8_t>({1, 1, 1, 1}, {1}));
  const ValueId none = graph.add_constant("n", zero_point(DType::kI8, 0));
  const ValueId y = *graph.add(ops::q_linear_conv, {x, one, zero, w, one, none, one, zero});
  graph.mark_output(*graph.add(ops::q_linear_global_average_pool, {y, one, zero, one, zero}));
  expect_agreement_of(graph, {image}, {"blocked", "reference"});
}

}  // namespace
}  // namespace shoal::cpu
