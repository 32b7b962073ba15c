#include "shoal/shrink/retraining/norms.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::fit {
namespace {

size_t norms_in(const LoadedGraph& loaded) {
  return static_cast<size_t>(std::ranges::count(loaded.graph.nodes(), &ops::batch_normalization,
                                                [](const Node& node) { return node.op; }));
}

NetworkForBatch convolution() {
  return [](int64_t batch) -> Result<LoadedGraph> {
    const std::string n = std::to_string(batch);
    SHOAL_ASSIGN(Graph graph, parse_text("input x f32[" + n + R"(,1,4,4]
const w f32[3,1,1,1] = [1,-2,3]
c = Conv(x, w)
y = Flatten(c)
output y
)",
                                         ops::find));
    LoadedGraph loaded;
    loaded.graph = std::move(graph);
    return loaded;
  };
}

TEST(NormsOfLearners, ComeForEveryBatchAndFoldAway) {
  const auto device = make_reference_device();
  const auto learner = with_norms(*device, convolution(), testing::Rows(40), {});
  ASSERT_TRUE(learner.ok()) << learner.status().message();
  EXPECT_TRUE(learner->has_new_norms);
  for (const int64_t batch : {1, 4}) {
    const auto learns = learner->network(batch);
    ASSERT_TRUE(learns.ok()) << learns.status().message();
    EXPECT_EQ(norms_in(*learns), 1U);
    const auto folded = with_folded_norms(learner->network)(batch);
    ASSERT_TRUE(folded.ok()) << folded.status().message();
    EXPECT_EQ(norms_in(*folded), 0U);
  }
}

TEST(NormsOfLearners, AreNotMissedWhereNothingIsConvolved) {
  const auto device = make_reference_device();
  const auto products = [](int64_t batch) -> Result<LoadedGraph> {
    LoadedGraph loaded;
    loaded.graph = testing::make_network(batch);
    return loaded;
  };
  const auto learner = with_norms(*device, products, testing::Rows(40), {});
  ASSERT_TRUE(learner.ok()) << learner.status().message();
  EXPECT_FALSE(learner->has_new_norms);
}

}  // namespace
}  // namespace shoal::fit
