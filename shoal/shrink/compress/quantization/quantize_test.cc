#include "shoal/shrink/compress/quantization/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/units/compress_testing.h"

namespace shoal::compress {
namespace {

std::vector<std::string> names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> all;
  for (ValueId id : ids) all.push_back(graph[id].name);
  return all;
}

std::vector<Tensor> random_inputs(const Graph& graph, std::mt19937& rng) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) {
    inputs.emplace_back(graph[id].type);
    for (float& x : inputs.back().data<float>()) x = uniform(rng);
  }
  return inputs;
}

Tensor answer(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto executable = make_reference_device()->compile(graph);
  std::vector<Tensor> outputs(graph.outputs().size());
  EXPECT_TRUE(executable.ok() && (*executable)->run(inputs, outputs, {}).ok());
  return outputs[0];
}

Graph quantized(const Graph& graph) {
  std::mt19937 rng(1);
  const auto device = make_reference_device();
  auto calibration = Calibration::start(graph, *device);
  EXPECT_TRUE(calibration.ok());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(calibration->observe(random_inputs(graph, rng)).ok());
  auto result = quantize(graph, calibration->ranges());
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : Graph();
}

constexpr const char* kNetwork = R"(
input x f32[1,3,8,8]
const w f32[4,3,3,3] = random(1)
const b f32[4] = random(2)
const v f32[4,4,1,1] = random(3)
const m f32[6,4] = random(4)
const n f32[6] = random(5)
a = Conv(x, w, b) pads=[1,1,1,1]
c = Relu(a)
d = MaxPool(c) kernel_shape=[2,2] strides=[2,2]
e = Conv(d, v)
f = Add(d, e)
g = GlobalAveragePool(f)
h = Flatten(g) axis=1
y = Gemm(h, m, n) transB=1
output y
)";

TEST(ValuesToQuantize, AreWhatIsBetweenProductsAndNotTheResult) {
  const Graph graph = parse(kNetwork);
  EXPECT_EQ(names(graph, values_to_quantize(graph)),
            (std::vector<std::string>{"x", "c", "d", "e", "f", "g", "h"}));
}

TEST(ValuesToQuantize, LeaveOutProductsThatIntegersCannotDo) {
  const Graph graph = parse(R"(
input x f32[2,2]
input z f32[2,2]
const w f32[2,2] = random(1)
a = MatMul(x, z)
b = Gemm(a, w) alpha=2.0
c = Gemm(b, w, z)
y = Softmax(c)
output y
)");
  EXPECT_TRUE(values_to_quantize(graph).empty());
}

TEST(Quantize, RoundsEveryValueOnceAndKeepsTheResultReal) {
  const Graph graph = quantized(parse(kNetwork));
  size_t quantizing = 0;
  for (const Node& node : graph.nodes()) quantizing += node.op == &ops::quantize_linear ? 1 : 0;
  EXPECT_EQ(quantizing, 7u);
  EXPECT_EQ(graph[graph.outputs()[0]].name, "y");
  EXPECT_EQ(graph.nodes().back().op, &ops::gemm);
}

TEST(Quantize, LosesLittle) {
  const Graph before = parse(kNetwork), after = quantized(before);
  std::mt19937 rng(9);
  for (int i = 0; i < 5; ++i) {
    const std::vector<Tensor> inputs = random_inputs(before, rng);
    const Tensor want = answer(before, inputs), got = answer(after, inputs);
    for (size_t k = 0; k < want.data<float>().size(); ++k) {
      EXPECT_NEAR(got.data<float>()[k], want.data<float>()[k], 0.05f);
    }
  }
}

// The promise to fold_qdq: after it, nothing is real but the input and the result.
TEST(Quantize, LeavesNothingRealBetweenInputAndResult) {
  auto folded = passes::optimize(quantized(parse(kNetwork)));
  ASSERT_TRUE(folded.ok());
  for (const Node& node : folded->nodes()) {
    const bool is_real = (*folded)[node.outputs[0]].type.dtype == DType::kF32;
    EXPECT_EQ(is_real, node.op == &ops::q_gemm) << node.op->name;
  }
}

TEST(Quantize, GivesMaxPoolTheScaleOfItsInput) {
  const std::string text = to_text(quantized(parse(kNetwork)));
  const auto scale = [&](const std::string& name) {
    const size_t at = text.find("const " + name + ".scale");
    return text.substr(text.find('=', at), text.find('\n', at) - text.find('=', at));
  };
  EXPECT_EQ(scale("c"), scale("d"));
  EXPECT_NE(scale("c"), scale("x"));
}

TEST(Quantize, SurvivesChannelsWithoutWeights) {
  const Graph graph = quantized(parse(R"(
input x f32[1,1,4]
const w f32[3,1,1] = [0,1e-30,1]
const b f32[3] = [5,7,0]
y = Conv(x, w, b)
output y
)"));
  std::mt19937 rng(2);
  const Tensor y = answer(graph, random_inputs(graph, rng));
  EXPECT_NEAR(y.data<float>()[0], 5, 1e-4f);
  EXPECT_NEAR(y.data<float>()[4], 7, 1e-4f);
}

TEST(Prepare, FoldsNormalisationIntoTheLayerBefore) {
  auto graph = prepare(parse(R"(
input x f32[1,1,4]
const w f32[1,1,1] = [2]
const s f32[1] = [3]
const o f32[1] = [1]
a = Conv(x, w)
b = BatchNormalization(a, s, o, o, s)
y = Relu(b)
output y
)"));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes().size(), 2u);
}

// y = 3 (relu(x) - 1) / sqrt(4) + 1, for which no convolution before it has a place.
TEST(Prepare, MakesAProductOfNormalisationBehindAnActivation) {
  auto graph = prepare(parse(R"(
input x f32[1,1,1,2]
const s f32[1] = [3]
const o f32[1] = [1]
const v f32[1] = [4]
a = Relu(x)
y = BatchNormalization(a, s, o, o, v) epsilon=0.0
output y
)"));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes().back().op, &ops::conv);
  const Tensor y = answer(*graph, {Tensor::of<float>({1, 1, 1, 2}, {-7, 5})});
  EXPECT_EQ(y.data<float>()[0], -0.5f);
  EXPECT_EQ(y.data<float>()[1], 7);
}

// Behind the last product nothing is rounded: boxes and probabilities may meet there.
TEST(ValuesToQuantize, LeaveOutWhatNoProductDependsOn) {
  const Graph graph = parse(R"(
input x f32[1,2,4,4]
const w f32[2,2,1,1] = random(1)
a = Conv(x, w)
b = Sigmoid(a)
c = Conv(x, w)
y = Concat(b, c) axis=1
output y
)");
  EXPECT_EQ(names(graph, values_to_quantize(graph)), (std::vector<std::string>{"x", "a", "c"}));
}

TEST(ValuesToQuantize, LeaveOutWhatOnlyRealProductsUse) {
  const Graph graph = parse(R"(
input x f32[1,2,4,4]
const w f32[2,2,1,1] = random(1)
a = Conv(x, w)
b = Relu(a)
c = Conv(b, w)
y = Conv(c, w)
output y
)");
  const std::vector<ValueId> products = products_to_quantize(graph);
  ASSERT_EQ(names(graph, products), (std::vector<std::string>{"a", "c", "y"}));
  EXPECT_EQ(names(graph, values_to_quantize(graph, {products[1]})),
            (std::vector<std::string>{"x", "b", "c"}));
  EXPECT_EQ(names(graph, values_to_quantize(graph, {products[0], products[1]})),
            (std::vector<std::string>{"c"}));
}

// Both read x in bytes.
TEST(Quantize, LeavesRealProductsAsTheyAre) {
  const Graph graph = parse(R"(
input x f32[1,2,4,4]
const w f32[2,2,1,1] = random(1)
a = Conv(x, w)
b = Conv(x, w)
y = Add(a, b)
output y
)");
  Ranges ranges;
  for (ValueId id : values_to_quantize(graph)) ranges[id] = {-2, 2};
  const auto result = quantize(graph, ranges, {.real = {products_to_quantize(graph)[0]}});
  ASSERT_TRUE(result.ok()) << result.status().message();
  const std::string text = to_text(*result);
  EXPECT_NE(text.find("a = Conv(x.dequantized, w)"), std::string::npos) << text;
  EXPECT_NE(text.find("b = Conv(x.dequantized, b.weight_dequantized)"), std::string::npos) << text;
}

TEST(Quantize, AddsShiftsToBiases) {
  const Graph graph = parse(R"(
input x f32[1,2]
const w f32[2,2] = [1,0,0,1]
const b f32[2] = [1,2]
a = Gemm(x, w, b)
y = Gemm(a, w)
output y
)");
  Ranges ranges;
  for (ValueId id : values_to_quantize(graph)) ranges[id] = {-8, 8};
  const std::vector<ValueId> products = products_to_quantize(graph);
  const auto result =
      quantize(graph, ranges, {.shifts = {{products[0], {0.5f, 0}}, {products[1], {0, -1}}}});
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Tensor y = answer(*result, {Tensor::of<float>({1, 2}, {0, 0})});
  EXPECT_NEAR(y.data<float>()[0], 1.5f, 0.05f);
  EXPECT_NEAR(y.data<float>()[1], 1, 0.05f);
}

TEST(Quantize, MakesOneNodeOfSwish) {
  auto graph = prepare(parse(R"(
input x f32[1,2,4,4]
const w f32[2,2,1,1] = random(1)
a = Conv(x, w)
b = Sigmoid(a)
c = Mul(a, b)
y = Conv(c, w)
output y
)"));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(names(*graph, values_to_quantize(*graph)), (std::vector<std::string>{"x", "a", "c"}));
}

}  // namespace
}  // namespace shoal::compress
