#include "shoal/shrink/compress/refit/refit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "shoal/base/math/random_matrix_testing.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/units/compress_testing.h"

namespace shoal::compress {
namespace {

// A matrix as a constant of the text form.
std::string constant(const std::string& name_and_type, const Matrix& matrix) {
  std::string list;
  for (double x : matrix.elements()) list += (list.empty() ? "[" : ",") + std::to_string(x);
  return "const " + name_and_type + " = " + list + "]\n";
}

class Refit : public ::testing::Test {
 protected:
  // The units that weights have a slice of.
  static std::vector<size_t> units_of(const Graph& graph, const Groups& groups,
                                      const std::string& weights, size_t axis,
                                      const std::vector<int64_t>& indices) {
    std::vector<size_t> units;
    for (size_t unit = 0; unit < groups.units.size(); ++unit) {
      for (const Cell& cell : groups.units[unit].cells) {
        const bool is_it = graph[cell.value].name == weights && cell.axis == axis;
        if (is_it && std::ranges::find(indices, cell.index) != indices.end()) units.push_back(unit);
      }
    }
    EXPECT_EQ(units.size(), indices.size());
    return units;
  }

  static Graph with_weights(const Graph& graph, const std::map<std::string, Tensor>& weights) {
    passes::Rewriter rewriter(graph);
    for (const Node& node : graph.nodes()) {
      for (ValueId id : node.inputs) {
        const auto position = id == kNoValue ? weights.end() : weights.find(graph[id].name);
        if (position == weights.end()) continue;
        rewriter.replace(id, rewriter.to().add_constant(position->first, position->second));
      }
      SHOAL_CHECK(rewriter.copy(node).ok());
    }
    return *rewriter.finish();
  }

  // The sum over all examples of the squared differences of what two graphs answer.
  double difference(const Graph& a, const Graph& b, const CalibrationData& examples) {
    double sum = 0;
    for (size_t i = 0; i < examples.count; ++i) {
      const auto inputs = *examples.at(i);
      const Tensor x = (*answers(a, inputs, *device_))[0], y = (*answers(b, inputs, *device_))[0];
      for (size_t j = 0; j < x.data<float>().size(); ++j) {
        sum += std::pow(static_cast<double>(x.data<float>()[j] - y.data<float>()[j]), 2);
      }
    }
    return sum;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
};

// Rows 4 to 7 of a matrix of eight are made of rows 0 to 3; the last column is the bias.
Matrix planted(size_t columns, bool mixed, std::mt19937& rng) {
  Matrix rows = random_matrix(8, columns, rng);
  std::uniform_real_distribution<double> factor(0.5, 2);
  for (size_t i = 4; i < 8; ++i) {
    const double own = factor(rng), next = mixed ? factor(rng) : 0;
    for (size_t j = 0; j < columns; ++j) {
      rows(i, j) = own * rows(i - 4, j) - next * rows((i - 3) % 4, j);
    }
  }
  return rows;
}

// A Relu lets positive factors through, and mixtures only if there is none.
TEST_F(Refit, FindsWhatIsLeftToSayTheSame) {
  for (const bool mixed : {false, true}) {
    std::mt19937 rng(mixed ? 1 : 2);
    const Matrix rows = planted(3 * 9 + 1, mixed, rng);
    Matrix bias(8, 1);
    for (size_t i = 0; i < 8; ++i) bias(i, 0) = rows(i, 27);
    const Graph graph =
        parse("input x f32[1,3,6,6]\n" + constant("u f32[8,3,3,3]", first_columns(rows, 27)) +
              constant("b f32[8]", bias) + R"(
const v f32[5,8,3,3] = random(3)
const c f32[5] = random(4)
const m f32[5,4] = random(5)
const n f32[4] = random(6)
h = Conv(x, u, b) pads=[1,1,1,1]
)" + (mixed ? "r = Neg(h)\n" : "r = Relu(h)\n") +
              R"(g = Conv(r, v, c) strides=[2,2] pads=[1,1,1,1]
s = Relu(g)
p = GlobalAveragePool(s)
f = Flatten(p)
y = Gemm(f, m, n)
output y
)");
    const Groups groups = *find_groups(graph);
    const std::vector<size_t> units = units_of(graph, groups, "u", 0, {4, 5, 6, 7});
    const Graph smaller = *remove(graph, groups, units);
    const CalibrationData examples = random_examples(graph, 24);
    const auto fit = refit(graph, groups, units, examples, *device_);
    ASSERT_TRUE(fit.ok()) << fit.status().message();
    EXPECT_TRUE(fit->left.empty());
    ASSERT_EQ(fit->layers.size(), 2u);
    const Graph refitted = with_weights(smaller, fit->weights);
    // Examples that it was not fitted to.
    for (size_t i = 0; i < 4; ++i) {
      const std::vector<Tensor> inputs = random_inputs(graph, rng);
      const auto want = *answers(graph, inputs, *device_);
      EXPECT_GT(relative_error(*answers(smaller, inputs, *device_), want), 0.05);
      EXPECT_LT(relative_error(*answers(refitted, inputs, *device_), want), 1e-4);
    }
  }
}

// What a fit cannot explain it leaves out, so that layers of a network that lost most of its units
// would give less and less.
TEST_F(Refit, KeepsTheVarianceOfOutputs) {
  std::string text = "input x f32[1,3,6,6]\n";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i), from = i == 0 ? "3" : "16";
    text += "const w" + n + " f32[16," + from + ",3,3] = random(" + std::to_string(i + 1) +
            ")\nconst b" + n + " f32[16] = random(" + std::to_string(i + 9) + ")\n";
  }
  std::string value = "x";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    text += "c" + n + " = Conv(" + value + ", w" + n + ", b" + n + ") pads=[1,1,1,1]\nr" + n +
            " = Relu(c" + n + ")\n";
    value = "r" + n;
  }
  const Graph graph = parse(text + "output r3\n");
  const Groups groups = *find_groups(graph);
  std::vector<size_t> units;
  for (const Group& group : groups.groups) {
    for (size_t i = 3; i < group.size(); ++i) units.push_back(group.begin + i);
  }
  const Graph smaller = *remove(graph, groups, units);
  const CalibrationData examples = random_examples(graph, 64);
  // Of channel 0 of the layer before the last, in the whole network and without units.
  const auto variance = [&](const Graph& network) {
    Graph with_more = network;
    for (const Node& node : network.nodes()) {
      if (network[node.outputs[0]].name == "c2") with_more.mark_output(node.outputs[0]);
    }
    double count = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < examples.count; ++i) {
      const Tensor y = (*answers(with_more, *examples.at(i), *device_))[1];
      for (const float element : y.data<float>().first(36)) {
        const auto x = static_cast<double>(element);
        count += 1;
        sum += x;
        squares += x * x;
      }
    }
    return squares / count - sum / count * (sum / count);
  };
  const auto plain = refit(graph, groups, units, examples, *device_);
  const auto varied = refit(graph, groups, units, examples, *device_, {.keeps_variance = true});
  ASSERT_TRUE(plain.ok() && varied.ok());
  const double want = variance(graph);
  EXPECT_LT(variance(with_weights(smaller, plain->weights)), 0.7 * want);
  EXPECT_NEAR(variance(with_weights(smaller, varied->weights)), want, 0.2 * want);
}

// The layer that is refitted gives the answer, at fewer places than samples are wanted: the errors
// are those of the answers, and no other weights are better.
TEST_F(Refit, HasTheLeastErrorOfAllWeights) {
  for (const char* layers :
       {"input x f32[1,2,7,7]\nconst u f32[6,2,1,1] = random(1)\nconst v f32[3,6,3,2] = random(2)\n"
        "const c f32[3] = random(3)\nh = Conv(x, u)\nr = Relu(h)\n"
        "y = Conv(r, v, c) strides=[2,1] pads=[1,0,2,1] dilations=[1,2]\n",
        "input x f32[2,5]\nconst u f32[6,5] = random(4)\nconst v f32[3,6] = random(5)\n"
        "const c f32[3] = random(6)\nh = Gemm(x, u) transB=1\nr = Relu(h)\n"
        "y = Gemm(r, v, c) transB=1\n",
        "input x f32[1,3,5]\nconst u f32[5,6] = random(7)\nconst v f32[6,4] = random(8)\n"
        "h = MatMul(x, u)\nr = Tanh(h)\ny = MatMul(r, v)\n"}) {
    const Graph graph = parse(std::string(layers) + "output y\n");
    const Groups groups = *find_groups(graph);
    const std::vector<size_t> units = {0, 3, 4};
    const CalibrationData examples = random_examples(graph, 10);
    const auto fit = refit(graph, groups, units, examples, *device_);
    ASSERT_TRUE(fit.ok()) << fit.status().message();
    ASSERT_EQ(fit->layers.size(), 1u);
    const Graph smaller = *remove(graph, groups, units);
    const LayerFit& layer = fit->layers[0];
    EXPECT_EQ(layer.layer, "y");
    const double before = difference(graph, smaller, examples);
    const double after = difference(graph, with_weights(smaller, fit->weights), examples);
    EXPECT_NEAR(layer.before, before, 1e-4 * before);
    EXPECT_NEAR(layer.after, after, 1e-4 * before);
    EXPECT_LT(after, 0.9 * before);
    std::mt19937 rng(9);
    std::normal_distribution<float> normal(0, 0.01F);
    for (int i = 0; i < 10; ++i) {
      std::map<std::string, Tensor> others;
      for (const auto& [name, tensor] : fit->weights) {
        others[name] = tensor.clone();
        for (float& x : others[name].data<float>()) x += normal(rng);
      }
      EXPECT_GT(difference(graph, with_weights(smaller, others), examples), after);
    }
  }
}

TEST_F(Refit, ChangesNothingWhereNothingIsMissing) {
  // Nobody listens to channel 1 of u.
  const Graph graph = parse(R"(
input x f32[1,2,4,4]
const u f32[3,2,1,1] = random(1)
const v f32[2,3,1,1] = [0.5,0,-1,2,0,1]
const c f32[2] = [1,-1]
h = Conv(x, u)
r = Relu(h)
y = Conv(r, v, c)
output y
)");
  const Groups groups = *find_groups(graph);
  const CalibrationData examples = random_examples(graph, 10);
  const auto of_nothing = refit(graph, groups, {}, examples, *device_);
  ASSERT_TRUE(of_nothing.ok());
  EXPECT_TRUE(of_nothing->weights.empty());
  const auto fit = refit(graph, groups, units_of(graph, groups, "u", 0, {1}), examples, *device_);
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  ASSERT_EQ(fit->weights.size(), 2u);
  EXPECT_LT(relative_error(fit->weights.at("v"), Tensor::of<float>({2, 2, 1, 1}, {0.5, -1, 2, 1})),
            1e-5);
  EXPECT_LT(relative_error(fit->weights.at("c"), Tensor::of<float>({2}, {1, -1})), 1e-5);
}

// Groups of channels and weights of two readers; a layer before the removal is none of them.
TEST_F(Refit, NamesTheLayersThatKeepTheirWeights) {
  const Graph graph = parse(R"(
input x f32[1,2,5,5]
const u f32[4,2,1,1] = random(1)
const v f32[4,4,1,1] = random(2)
const d f32[4,1,3,3] = random(3)
const w f32[4,4,1,1] = random(4)
h = Conv(x, u)
g = Conv(h, v) @reads
r = Conv(g, d) group=4 @deep
s = Conv(r, w) @first
y = Conv(s, w) @second
output y
)");
  const Groups groups = *find_groups(graph);
  const auto fit = refit(graph, groups, units_of(graph, groups, "u", 0, {2}),
                         random_examples(graph, 10), *device_);
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  ASSERT_EQ(fit->left.size(), 3u);
  EXPECT_EQ(fit->left[0], "deep has groups");
  EXPECT_EQ(fit->left[1], "first shares its weights");
  EXPECT_EQ(fit->left[2], "second shares its weights");
  ASSERT_EQ(fit->weights.size(), 1u);
  EXPECT_TRUE(fit->weights.contains("v"));
}

}  // namespace
}  // namespace shoal::compress
