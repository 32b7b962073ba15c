#include <gtest/gtest.h>

#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/train/step/graph/differentiate.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::train {
namespace {

// sum(round(w) * x) with steps of 0.5 up to 127.5; w and x are inputs.
Graph rounding(const char* scale) {
  auto graph = parse_text(std::string(R"(
input x f32[4]
input w f32[4]
const s )") + scale + R"(
const z u8[] = [0]
q = QuantizeLinear(w, s, z)
d = DequantizeLinear(q, s, z)
m = Mul(d, x)
y = ReduceSum(m) keepdims=0
output d
output y
)",
                          ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

TEST(StraightThrough, RoundsAndHasTheGradientOfTheClamp) {
  const auto graph = straight_through(rounding("f32[] = [0.5]"));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto both = differentiate(*graph, graph->outputs()[1], std::vector{graph->inputs()[1]});
  ASSERT_TRUE(both.ok()) << both.status().message();
  const auto device = make_reference_device();
  const std::vector<Tensor> inputs = {Tensor::of<float>({4}, {1, 2, 3, 4}),
                                      Tensor::of<float>({4}, {0.7f, 3.2f, -1, 200})};
  std::vector<Tensor> outputs(both->graph.outputs().size());
  ASSERT_TRUE((*device->compile(both->graph))->run(inputs, outputs, {}).ok());
  const auto rounded = outputs[0].data<float>(), gradient = outputs[2].data<float>();
  const float wanted[] = {0.5f, 3, 0, 127.5f}, slopes[] = {1, 2, 0, 0};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(rounded[i], wanted[i], 1e-5f) << i;
    EXPECT_EQ(gradient[i], slopes[i]) << i;
  }
}

TEST(StraightThrough, LearnsWeightsAndNotTheirScales) {
  auto network = parse_text(R"(
input x f32[2,3]
const w f32[3,2] = random(1)
const s f32[2] = [0.01,0.02]
const z i8[2] = [0,0]
q = QuantizeLinear(w, s, z) axis=1
d = DequantizeLinear(q, s, z) axis=1
y = MatMul(x, d)
output y
)",
                            ops::find);
  ASSERT_TRUE(network.ok());
  const auto graph = straight_through(*network);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const std::vector<ValueId> learned = learned_values(*graph);
  ASSERT_EQ(learned.size(), 1u);
  EXPECT_EQ((*graph)[learned[0]].name, "w");
  EXPECT_TRUE(make_step_graph(*graph).ok());
}

}  // namespace
}  // namespace shoal::train
