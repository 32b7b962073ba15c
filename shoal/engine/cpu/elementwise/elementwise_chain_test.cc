#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

Graph graph_of(const std::string& text) {
  auto graph = parse_text(text, ops::find);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

std::vector<Tensor> answers(Device& device, const Graph& graph) {
  std::mt19937 rng(3);
  std::vector<Tensor> inputs, outputs(graph.outputs().size());
  for (ValueId id : graph.inputs()) inputs.push_back(random_floats(rng, graph[id].type.shape));
  auto executable = device.compile(graph);
  EXPECT_TRUE(executable.ok() && (*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].type(), want[i].type());
    for (size_t e = 0; e < want[i].data<float>().size(); ++e) {
      ASSERT_NEAR(got[i].data<float>()[e], want[i].data<float>()[e], 1e-5) << "element " << e;
    }
  }
}

// The operators after the pass, one word each. Answers must stay what they were, by the reference
// and by the kernel.
std::string chained(const std::string& text) {
  const Graph before = graph_of(text);
  const auto after = chain_elementwise(before);
  EXPECT_TRUE(after.ok() && verify(*after).ok());
  const auto reference = make_reference_device(), cpu = make_cpu_device({.threads = 2});
  const std::vector<Tensor> want = answers(*reference, before);
  expect_near(answers(*reference, *after), want);
  expect_near(answers(*cpu, before), want);
  std::string names;
  for (const Node& node : after->nodes()) {
    names += (names.empty() ? "" : " ") + std::string(node.op->name);
  }
  return names;
}

TEST(ElementwiseChain, TakesInWhatWorksForItAlone) {
  EXPECT_EQ(chained(R"(
      input x f32[3,40,50]
      input z f32[3,40,50]
      const half f32[] = [0.5]
      const low f32[] = [-0.25]
      a = Mul(x, half)
      b = Clip(a, low)
      c = Sigmoid(z)
      d = Sub(b, c)
      e = LeakyRelu(d) alpha=0.25
      y = Mul(e, e)
      output y)"),
            "ElementwiseChain Mul");
}

TEST(ElementwiseChain, StretchesItsInputs) {
  EXPECT_EQ(chained(R"(
      input x f32[2,8,7,9]
      const scale f32[8,1,1] = random(1)
      const shift f32[9] = random(2)
      input gate f32[2,8,1,1]
      a = Mul(x, scale)
      b = Add(shift, a)
      c = Mul(b, gate)
      y = Tanh(c)
      output y)"),
            "ElementwiseChain");
}

TEST(ElementwiseChain, LeavesWhatOthersReadOrHasAnotherShape) {
  EXPECT_EQ(chained(R"(
      input x f32[4,1]
      input z f32[1,5]
      a = Abs(x)
      b = Exp(z)
      c = Add(a, b)
      y = Neg(c)
      output y
      output c)"),
            "Abs Exp Add Neg");
}

TEST(ElementwiseChain, IsNoLongerThanItMayBe) {
  std::string text = "input x f32[1000]\ninput z0 f32[1000]\n", last = "x";
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i), next = "a" + n;
    text += "input w" + n + " f32[1000]\n";
    text += next + " = Add(" + last + ", w" + n + ")\n";
    last = next;
  }
  text += "y = Neg(" + last + ")\noutput y\n";
  EXPECT_EQ(chained(text), "ElementwiseChain ElementwiseChain ElementwiseChain ElementwiseChain");
}

// x is small and positive: fit for every function, and not large in the end.
TEST(ElementwiseChain, ComputesEveryStepInEitherOrder) {
  std::mt19937 rng(5);
  std::vector<Tensor> inputs;
  for (const Shape& shape : {Shape{3, 1001}, {3, 1001}, {1}}) {
    inputs.push_back(random_floats(rng, shape));
    for (float& x : inputs.back().data<float>()) x = 0.5f + 0.25f * x;
  }
  for (const Operator* op : vector_pairs()) {
    for (const auto& [a, b] : {std::pair<size_t, size_t>{3, 1}, {1, 3}, {3, 2}, {2, 3}}) {
      if (op == &ops::prelu && b == 3 && a == 2) continue;            // the argument would stretch
      if (op == &ops::relu_backward && (a == 2 || b == 2)) continue;  // it takes two of one shape
      SCOPED_TRACE(std::string(op->name) + (a < b ? ", reversed" : ""));
      const std::vector<ChainStep> steps{{&ops::neg, {0}}, {op, {a, b}}};
      expect_agreement(elementwise_chain, inputs, to_attributes(steps), "chain");
    }
  }
  for (const Operator* op : vector_functions()) {
    SCOPED_TRACE(op->name);
    const ops::Activation plain = *ops::plain_activation(op);
    const std::vector<ChainStep> steps{{&ops::mul, {0, 1}}, {op, {3}, plain.alpha, plain.beta}};
    expect_agreement(elementwise_chain, inputs, to_attributes(steps), "chain");
  }
}

// Both sides of the last step are computed: one of them waits in memory.
TEST(ElementwiseChain, StoresWhatIsNeededLater) {
  std::mt19937 rng(6);
  const std::vector<Tensor> inputs{random_floats(rng, {2, 300}), random_floats(rng, {2, 300})};
  const std::vector<ChainStep> steps{{&ops::neg, {0}},
                                     {&ops::abs, {1}},
                                     {&ops::exp, {3}},
                                     {&ops::sub, {2, 4}},
                                     {&ops::mul, {5, 0}}};
  expect_agreement(elementwise_chain, inputs, to_attributes(steps), "chain");
}

// One element per channel of a block, as in the blocked layout. There are as many pixels as one
// thread is worth, and a single run that threads share.
TEST(ElementwiseChain, RepeatsTheLastAxis) {
  std::mt19937 rng(7);
  const std::pair<Shape, Shape> cases[] = {{{2, 3, 7, 9, 8}, {1, 3, 1, 1, 8}},
                                           {{2, 3, 7, 9, 16}, {2, 3, 1, 1, 16}},
                                           {{1, 1, 90, 91, 8}, {1, 1, 1, 1, 8}},
                                           {{40, 4}, {4}},
                                           {{3, 5, 12}, {3, 1, 12}},
                                           {{2, 50, 67, 3}, {3}},
                                           {{300, 7}, {1, 7}},
                                           {{0, 7, 8}, {8}}};
  for (const auto& [shape, channels] : cases) {
    SCOPED_TRACE(to_string(shape));
    const std::vector<Tensor> inputs{random_floats(rng, shape), random_floats(rng, channels),
                                     random_floats(rng, shape), random_floats(rng, {1})};
    const std::vector<ChainStep> steps{
        {&ops::mul, {0, 1}}, {&ops::add, {4, 2}}, {&ops::sub, {3, 5}}, {&ops::sub, {6, 1}}};
    expect_agreement(elementwise_chain, inputs, to_attributes(steps), "chain");
    // The scalar form has groups of eight, which a longer axis does not fit.
    expect_agreement(ops::sub, {inputs[0], inputs[1]}, {}, {"chain", "vector"});
    expect_agreement(ops::div, {inputs[1], inputs[0]}, {}, {"chain", "vector"});
  }
}

TEST(ElementwiseChain, OfIntegersStaysApart) {
  const Graph graph = graph_of("input x i32[4]\na = Add(x, x)\ny = Mul(a, x)\noutput y\n");
  const auto after = chain_elementwise(graph);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->nodes().size(), 2u);
}

}  // namespace
}  // namespace shoal::cpu
