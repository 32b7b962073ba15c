#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/norms.h"

namespace shoal::shrink {
namespace {

using RefittedLearners = Shrinking;

// The channels 2 and 3 of h are twice and half of the channels 0 and 1.
NetworkForBatch planted() {
  return [](int64_t batch) -> Result<LoadedGraph> {
    LoadedGraph loaded;
    SHOAL_ASSIGN(loaded.graph, parse_text("input x f32[" + std::to_string(batch) + R"(,1,4,4]
const u f32[4,1,2,1] = [1,-2,3,1,2,-4,1.5,0.5]
const b f32[4] = [0.5,-1,1,-0.5]
const v f32[3,4,2,2] = random(1)
const c f32[3] = random(2)
h = Conv(x, u, b)
r = Relu(h)
g = Conv(r, v, c)
y = Flatten(g)
output y
)",
                                          ops::find));
    return loaded;
  };
}

// The norms of the whole network stay behind: those of the smaller one begin with what it gives.
TEST_F(RefittedLearners, AnswerAsTheWholeNetworkDoesForEveryBatch) {
  const Dataset& training = *data_.data.training;
  const auto whole = fit::with_norms(*device_, planted(), training, options().recipe);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto left = refitted(*device_, *whole, {2, 3}, training, options().recipe);
  ASSERT_TRUE(left.ok()) << left.status().message();
  EXPECT_TRUE(left->left.empty());
  EXPECT_TRUE(left->learner.has_new_norms);
  std::mt19937 rng(1);
  for (const int64_t batch : {1, 3}) {
    const LoadedGraph loaded = *planted()(batch), smaller = *left->learner.network(batch);
    EXPECT_EQ(std::ranges::count(smaller.graph.nodes(), &ops::batch_normalization, &Node::op), 2);
    EXPECT_LT(parameters(smaller.graph), parameters(whole->network(batch)->graph));
    const std::vector<Tensor> inputs = random_inputs(loaded.graph, rng);
    EXPECT_LT(relative_error(*compress::answers(smaller.graph, inputs, *device_),
                             *compress::answers(loaded.graph, inputs, *device_)),
              1e-4);
  }
}

}  // namespace
}  // namespace shoal::shrink
