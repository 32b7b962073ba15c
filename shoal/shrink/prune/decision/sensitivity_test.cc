#include "shoal/shrink/prune/decision/sensitivity.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::shrink {
namespace {

class Sensitivities : public Shrinking {
 protected:
  Result<Sensitivity> of(const NetworkForBatch& network,
                         const std::atomic<bool>* cancel = nullptr) {
    return sensitivity_of(*device_, network, data_.data.held_out, options(), cancel);
  }
  // Without the unit that the loss needs least.
  double top1_without_the_least(const NetworkForBatch& network) {
    const Graph graph = network(kBatch)->graph;
    const std::vector<double> worth =
        *worth_of(*device_, graph, *compress::find_groups(graph), {}, Importance::kTaylor,
                  *data_.data.held_out, options().recipe);
    const auto least = static_cast<size_t>(std::ranges::min_element(worth) - worth.begin());
    return *top1_of(*device_, without(network, {least}), *data_.data.held_out, options().recipe);
  }
};

TEST_F(Sensitivities, AreThoseOfTheNetworkWithoutTheUnits) {
  const NetworkForBatch network_for_batch = as_given(model_);
  const auto trained =
      retrain(*device_, network_for_batch, network_for_batch, data_.data, options().recipe, {});
  ASSERT_TRUE(trained.ok()) << trained.status().message();
  const auto result = of(trained->network);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->examples, data_.data.held_out->size());
  EXPECT_EQ(result->top1, trained->held_out_top1);
  ASSERT_EQ(result->groups.size(), 1u);
  const GroupSensitivity& group = result->groups[0];
  EXPECT_EQ(group.weights, "fc1.weight");
  EXPECT_EQ(group.axis, 0u);
  EXPECT_EQ(group.units, 8u);
  ASSERT_EQ(group.top1.size(), 9u);
  EXPECT_GT(group.top1[0], group.top1[8]);  // one of eight goes, then all but one
  EXPECT_EQ(group.top1[0], top1_without_the_least(trained->network));
}

// Layers in a row and a sum around two of them: what comes before a group is computed once for all
// of its shares, and must be what the whole network would compute.
TEST_F(Sensitivities, AreTheSameAsThoseOfWholeNetworks) {
  const auto graph = parse_text(R"(
input x f32[1,1,4,4]
const w1 f32[16,10] = random(1)
const w2 f32[10,12] = random(2)
const w3 f32[12,10] = random(3)
const w4 f32[10,4] = random(4)
a = Flatten(x)
b = Gemm(a, w1)
c = Gemm(b, w2)
d = Relu(c)
e = Gemm(d, w3)
f = Add(b, e)
g = Relu(f)
h = Gemm(g, w4)
output h
)",
                                ops::find);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Model model = model_of(*graph);
  const NetworkForBatch network = as_given(model);
  const auto result = of(network);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Graph batch = network(kBatch)->graph;
  const compress::Groups groups = *compress::find_groups(batch);
  const std::vector<double> worth = *worth_of(*device_, batch, groups, {}, Importance::kTaylor,
                                              *data_.data.held_out, options().recipe);
  ASSERT_EQ(result->groups.size(), 2u);
  ASSERT_EQ(groups.groups.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const compress::Group& group = groups.groups[i];
    std::vector<size_t> units(group.size());
    std::iota(units.begin(), units.end(), group.begin);
    std::ranges::stable_sort(units, {}, [&](size_t unit) { return worth[unit]; });
    ASSERT_EQ(result->groups[i].top1.size(), 9u);
    for (size_t share = 1; share <= 9; ++share) {
      const auto gone = static_cast<ptrdiff_t>((2 * share * group.size() + 10) / 20);  // rounded
      EXPECT_EQ(result->groups[i].top1[share - 1],
                *top1_of(*device_, without(network, {units.begin(), units.begin() + gone}),
                         *data_.data.held_out, options().recipe))
          << i << " " << share;
    }
  }
}

TEST(SensitivityExamples, AreFewerForLargeNetworks) {
  EXPECT_EQ(sensitivity_examples(50'000, 12, 40'551'040), 2000u);  // ResNet-20
  EXPECT_EQ(sensitivity_examples(300, 12, 40'551'040), 300u);
  EXPECT_EQ(sensitivity_examples(50'000, 10, 100'000'000), 1111u);  // 90 evaluations
  EXPECT_EQ(sensitivity_examples(50'000, 100, 4'000'000'000), 100u);
  EXPECT_EQ(sensitivity_examples(50, 100, 4'000'000'000), 50u);
  EXPECT_EQ(sensitivity_examples(50'000, 1, 0), 2000u);
}

TEST_F(Sensitivities, EndWhenTheyAreToldTo) {
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(of(as_given(model_), &cancel).status().code(), Code::kCancelled);
}

TEST_F(Sensitivities, NeedExamples) {
  const auto none = std::make_shared<Rows>(0);
  EXPECT_EQ(sensitivity_of(*device_, as_given(model_), none, options()).status().code(),
            Code::kInvalidArgument);
}

TEST_F(Sensitivities, AreLookedAtWhereTheyAreAskedFor) {
  ShrinkOptions shrink_options = options();
  shrink_options.recipe.epochs = 1;
  EXPECT_FALSE(run(shrink_options)->sensitivity);
  shrink_options.sensitivity = true;
  const auto result = run(shrink_options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_TRUE(result->sensitivity);
  EXPECT_EQ(result->sensitivity->groups.size(), 1u);
  EXPECT_GT(result->sensitivity->seconds, 0);
}

}  // namespace
}  // namespace shoal::shrink
