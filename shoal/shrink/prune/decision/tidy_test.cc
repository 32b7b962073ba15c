#include "shoal/shrink/prune/decision/tidy.h"

#include <algorithm>
#include <cmath>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/shrink_testing.h"

namespace shoal::shrink {
namespace {

Graph parse(const std::string& text) {
  auto graph = parse_text(text, ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

std::span<float> weights(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (value.name != name) continue;
    Tensor shared = *value.constant;
    return shared.data<float>();
  }
  ADD_FAILURE() << name;
  return {};
}

NetworkForBatch always(Graph graph) {
  return [graph = std::move(graph)](int64_t) -> Result<LoadedGraph> {
    return LoadedGraph{graph, {graph[graph.outputs()[0]].name}};
  };
}

class Tidying : public ::testing::Test {
 protected:
  std::vector<size_t> dead_in(const Graph& graph) {
    const auto groups = compress::find_groups(graph);
    SHOAL_CHECK(groups.ok());
    auto dead = dead_units(*device_, graph, *groups);
    EXPECT_TRUE(dead.ok()) << dead.status().message();
    return *std::move(dead);
  }
  Tidied tidied(const Graph& graph) {
    auto result = shrink::tidied(*device_, always(graph));
    SHOAL_CHECK(result.ok());
    return *std::move(result);
  }
  // The largest difference between the answers of two networks to noise.
  float difference(const Graph& a, const Graph& b) {
    std::mt19937 rng(3);
    const auto inputs = random_inputs(a, rng);
    std::vector<std::vector<float>> answers;
    for (const Graph* graph : {&a, &b}) {
      std::vector<Tensor> outputs(1);
      EXPECT_TRUE((*device_->compile(*graph))->run(inputs, outputs, {}).ok());
      const auto elements = outputs[0].data<float>();
      answers.emplace_back(elements.begin(), elements.end());
    }
    float most = 0;
    for (size_t i = 0; i < answers[0].size(); ++i) {
      most = std::max(most, std::abs(answers[0][i] - answers[1][i]));
    }
    return most;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
};

// Two convolutions of 6 channels, the second one depthwise, and a product that reads them.
constexpr const char* kChannels = R"(input x f32[1,2,5,5]
const a f32[6,2,3,3] = random(1)
const a_bias f32[6] = random(2)
const d f32[6,1,3,3] = random(3)
const d_bias f32[6] = random(4)
const b f32[4,6,3,3] = random(5)
p = Conv(x, a, a_bias)
q = Relu(p)
r = Conv(q, d, d_bias) group=6 pads=[1,1,1,1]
s = Relu(r)
y = Conv(s, b)
output y
)";

void clear(std::span<float> all, size_t begin, size_t count) {
  std::ranges::fill(all.subspan(begin, count), 0.0F);
}

TEST_F(Tidying, FindsUnitsThatAreMultipliedByZero) {
  const Graph graph = parse(kChannels);
  EXPECT_TRUE(dead_in(graph).empty());
  for (size_t row = 0; row < 4; ++row) clear(weights(graph, "b"), row * 54 + 2 * 9, 9);
  EXPECT_EQ(dead_in(graph), std::vector<size_t>{2});
  weights(graph, "b")[54 + 18] = 1e-30F;  // of one row
  EXPECT_TRUE(dead_in(graph).empty());
}

// All that makes it must be: a bias alone is something.
TEST_F(Tidying, FindsUnitsThatAreNothing) {
  const Graph graph = parse(kChannels);
  clear(weights(graph, "a"), 3 * 18, 18);
  EXPECT_TRUE(dead_in(graph).empty());
  clear(weights(graph, "a_bias"), 3, 1);
  clear(weights(graph, "d"), 3 * 9, 9);
  EXPECT_TRUE(dead_in(graph).empty());
  clear(weights(graph, "d_bias"), 3, 1);
  EXPECT_EQ(dead_in(graph), std::vector<size_t>{3});
}

// What is made of zeros is not always zero.
TEST_F(Tidying, KeepsWhatAnOperatorMakesOfZero) {
  const auto made_by = [&](const std::string& activation) {
    const Graph graph = parse(R"(input x f32[1,4]
const a f32[4,3] = random(1)
const b f32[3,2] = random(2)
p = MatMul(x, a)
q = )" + activation + R"((p)
y = MatMul(q, b)
output y
)");
    for (size_t row = 0; row < 4; ++row) clear(weights(graph, "a"), row * 3 + 1, 1);
    return dead_in(graph);
  };
  EXPECT_EQ(made_by("Tanh"), std::vector<size_t>{1});
  EXPECT_TRUE(made_by("Sigmoid").empty());
}

// A run on noise says nothing about what depends on the input in another way.
TEST_F(Tidying, KeepsWhatSomethingElseComesInto) {
  const auto sum_of = [&](const std::string& other) {
    const Graph graph = parse(R"(input x f32[1,4]
const a f32[4,3] = random(1)
const b f32[3,2] = random(2)
const one f32[4,1] = [-1, -1, -1, -1]
p = MatMul(x, a)
s = MatMul(x, one)
q = Add(p, )" + other + R"()
r = Relu(q)
y = MatMul(r, b)
output y
)");
    for (size_t row = 0; row < 4; ++row) clear(weights(graph, "a"), row * 3 + 1, 1);
    return dead_in(graph);
  };
  EXPECT_EQ(sum_of("p"), std::vector<size_t>{1});
  EXPECT_TRUE(sum_of("s").empty());
}

TEST_F(Tidying, LeavesOneUnitOfAGroup) {
  const Graph graph = parse(kChannels);
  clear(weights(graph, "b"), 0, weights(graph, "b").size());
  EXPECT_EQ(dead_in(graph).size(), 5u);
}

// Channel 2 is dead; then so is all that reads nothing else.
TEST_F(Tidying, GivesTheSameAnswersWithLess) {
  const Graph graph = parse(R"(input x f32[1,4]
const a f32[4,6] = random(1)
const b f32[6,5] = random(2)
const c f32[5,3] = random(3)
p = MatMul(x, a)
q = Relu(p)
r = MatMul(q, b)
s = Relu(r)
y = MatMul(s, c)
unread = Neg(s)
output y
)");
  for (size_t row = 0; row < 4; ++row) clear(weights(graph, "a"), row * 6 + 2, 1);
  for (size_t row = 0; row < 6; ++row) {
    if (row != 2) clear(weights(graph, "b"), row * 5 + 1, 1);
  }
  weights(graph, "c")[0] = 1e-39F;
  const Tidied result = tidied(graph);
  const Graph less = result.network(1)->graph;
  EXPECT_LT(difference(graph, less), 1e-6F);
  EXPECT_EQ(less.nodes().size(), 5u);
  EXPECT_EQ(weights(less, "a").size(), 4u * 5);
  EXPECT_EQ(weights(less, "b").size(), 5u * 4);
  EXPECT_EQ(weights(less, "c")[0], 0);
  EXPECT_EQ(weights(graph, "c")[0], 1e-39F);
  ASSERT_EQ(result.removed.size(), 2u);
  EXPECT_EQ(result.removed[0].before, 6u);
  EXPECT_EQ(result.removed[0].left, 5u);
  EXPECT_EQ(result.removed[1].before, 5u);
  EXPECT_EQ(result.removed[1].left, 4u);
}

TEST(WithoutSubnormals, KeepsTheSmallestNormalNumber) {
  const Graph graph =
      parse("input x f32[4]\nconst w f32[4] = random(1)\ny = Mul(x, w)\noutput y\n");
  const std::span<float> elements = weights(graph, "w");
  const std::vector<float> numbers = {0x1p-126F, -0x1p-127F, 0x1p-149F, -1};
  std::ranges::copy(numbers, elements.begin());
  const Graph flushed = without_subnormals(always(graph))(1)->graph;
  EXPECT_TRUE(std::ranges::equal(weights(flushed, "w"), std::vector<float>{0x1p-126F, 0, 0, -1}));
}

// Half of the hidden units of the given network do nothing, and learn nothing: a unit that is 0
// before a Relu has no gradient. A target that asks for less leaves some of them to tidying.
TEST_F(Shrinking, WritesNothingThatNoAnswerNeeds) {
  const Graph given = fit::testing::make_network(1);
  clear(weights(given, "fc1.weight"), 0, 4 * 16);
  const Model model = model_of(given);
  ShrinkOptions shrink_options = options();
  shrink_options.target = {.macs = 0.8};
  shrink_options.recipe.epochs = 2;
  shrink_options.out = out_;
  const auto result = shrink({*device_, *device_}, model, data_, shrink_options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto file = open_model(out_.string());
  ASSERT_TRUE(file.ok());
  const Graph graph = file->graph_for_batch(1)->graph;
  EXPECT_EQ(weights(graph, "fc1.weight").size(), 4u * 16);
  EXPECT_EQ(result->small.size.macs, 16 * 4 + 4 * 4);
  EXPECT_EQ(result->small.size.parameters, parameters(graph));
  ASSERT_EQ(result->removed.size(), 1u);
  EXPECT_EQ(result->removed[0].before, 8u);
  EXPECT_EQ(result->removed[0].left, 4u);
}

}  // namespace
}  // namespace shoal::shrink
