#include "shoal/shrink/compress/factors/layers_apart.h"

#include <gtest/gtest.h>

#include <random>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/shrink/compress/units/remove.h"

namespace shoal::compress {
namespace {

// Two convolutions, one of one tap, and a product; what fills the weights is of rank one.
Graph network(int64_t batch, const std::string& fill = "ones") {
  auto graph = parse_text("input x f32[" + std::to_string(batch) + R"(,16,4,4]
const w1 f32[16,16,3,3] = )" + fill +
                              R"(
const w2 f32[16,16,1,1] = random(1)
const w3 f32[256,48] = )" + fill +
                              R"(
const s f32[16] = ones
a = Conv(x, w1, s) pads=[1,1,1,1]
b = BatchNormalization(a, s, s, s, s)
c = Relu(b)
d = Conv(c, w2)
e = Flatten(d)
y = MatMul(e, w3)
output y
)",
                          ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

Tensor answer(const Graph& graph) {
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs = random_inputs(graph, rng);
  auto executable = make_reference_device()->compile(graph);
  std::vector<Tensor> outputs(1);
  EXPECT_TRUE(executable.ok() && (*executable)->run(inputs, outputs, {}).ok());
  return outputs[0];
}

class LayersApartTest : public ::testing::Test {
 protected:
  LayersApart apart(const Graph& graph, const Factorisation& factorisation) {
    auto result = LayersApart::of(graph, {*device_}, factorisation);
    SHOAL_CHECK(result.ok());
    return *std::move(result);
  }
  const std::unique_ptr<Device> device_ = make_reference_device();
};

// Factors that were found for one example stand for the layers of any batch.
TEST_F(LayersApartTest, HaveFactorsForEveryBatch) {
  for (const auto* factorisation : {&kSvd, &kTucker}) {
    const LayersApart layers = apart(network(1), *factorisation);
    std::vector<Ranks> ranks;
    for (const LayerApart& layer : layers.layers()) {
      ranks.push_back(layer.factors.candidates[0].ranks);
    }
    const auto factors = layers.at(ranks);
    ASSERT_TRUE(factors.ok()) << factors.status().message();
    EXPECT_EQ(factors->size(), layers.layers().size());
    for (int64_t batch : {1, 3}) {
      const auto small = with_factors(network(batch), *factors);
      ASSERT_TRUE(small.ok()) << small.status().message();
      if (factorisation == &kTucker) {  // the other one has a layer of full rank
        EXPECT_LT(relative_error(answer(*small), answer(network(batch))), kSameAnswer);
      }
    }
  }
}

TEST_F(LayersApartTest, StayAsTheyAreWithoutRanks) {
  const LayersApart layers = apart(network(1), kTucker);
  const auto factors = layers.at(std::vector<Ranks>(layers.layers().size()));
  ASSERT_TRUE(factors.ok());
  EXPECT_TRUE(factors->empty());
  const auto same = with_factors(network(1), *factors);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(to_text(*same), to_text(layers.graph()));
}

// What candidates say of their costs is what the graph has.
TEST_F(LayersApartTest, CostWhatTheirCandidatesSay) {
  for (const auto* factorisation : {&kSvd, &kTucker}) {
    const LayersApart layers = apart(network(1, "random(2)"), *factorisation);
    const auto before = size_without(layers.graph(), {}, {});
    ASSERT_TRUE(before.ok());
    for (size_t i = 0; i < layers.layers().size(); ++i) {
      const LayerApart& layer = layers.layers()[i];
      for (const Candidate& candidate : layer.factors.candidates) {
        std::vector<Ranks> ranks(layers.layers().size());
        ranks[i] = candidate.ranks;
        const auto small = with_factors(network(1), *layers.at(ranks));
        ASSERT_TRUE(small.ok()) << small.status().message();
        const auto after = size_without(*small, {}, {});
        ASSERT_TRUE(after.ok());
        EXPECT_EQ(static_cast<double>(before->macs - after->macs),
                  layer.whole.macs - candidate.macs);
        EXPECT_EQ(static_cast<double>(before->parameters - after->parameters),
                  layer.whole.weights - candidate.weights);
      }
    }
  }
}

TEST_F(LayersApartTest, SayWhichProductsStay) {
  const LayersApart layers = apart(network(1), kTucker);
  ASSERT_EQ(layers.layers().size(), 1u);
  EXPECT_EQ(layers.layers()[0].weights, "b.weights");  // w1 with the norm folded
  ASSERT_EQ(layers.left().size(), 2u);
  EXPECT_NE(layers.left()[0].refused.message().find("svd"), std::string_view::npos);
}

TEST_F(LayersApartTest, AreThoseOfTheGraph) {
  FactorsByLayer factors = *apart(network(1), kTucker).at(std::vector<Ranks>{{8, 8}});
  factors["nowhere"] = factors.begin()->second;
  EXPECT_EQ(with_factors(network(1), factors).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::compress
