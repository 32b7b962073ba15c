#include "shoal/shrink/sensitivity.h"

#include <algorithm>
#include <atomic>

#include "shoal/shrink/retrain.h"
#include "shoal/shrink/testing.h"
#include "shoal/shrink/worth.h"

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
  const NetworkForBatch given = as_given(model_);
  const auto trained = retrain(*device_, given, given, data_.data, options().recipe, {});
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
  ShrinkOptions how = options();
  how.recipe.epochs = 1;
  EXPECT_FALSE(run(how)->sensitivity);
  how.sensitivity = true;
  const auto result = run(how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_TRUE(result->sensitivity);
  EXPECT_EQ(result->sensitivity->groups.size(), 1u);
  EXPECT_GT(result->sensitivity->seconds, 0);
}

}  // namespace
}  // namespace shoal::shrink
