// The precision of layers, on devices that only say which they were asked for.
#include "shoal/engine/gpu/plan/session_precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "shoal/engine/session/model.h"

namespace shoal {
namespace {

class SessionPrecision : public testing::Test {
 protected:
  // As if each of these layers cost this much accuracy in f16.
  Result<AutomaticPrecision> choose(double budget, const std::map<std::string, double>& losses) {
    std::vector<std::string> f32;
    GpuPrecision precision = GpuPrecision::kF32;
    const auto make = [&](GpuPrecision asked, const std::vector<std::string>& f32_layers) {
      precision = asked;
      f32 = f32_layers;
      ++made_;
      return Result<std::unique_ptr<Device>>(make_reference_device());
    };
    const auto open = [&](Device& device) { return model_.session(device); };
    const auto accuracy = [&](Session&) -> Result<double> {
      double left = 1;
      for (const auto& [layer, loss] : losses) {
        const bool is_f32 =
            precision == GpuPrecision::kF32 || std::ranges::find(f32, layer) != f32.end();
        if (!is_f32) left -= loss;
      }
      return left;
    };
    return choose_precision(make, budget, {}, open, accuracy);
  }

  const Model model_ = *open_model("zoo:lenet5");
  int made_ = 0;
};

TEST_F(SessionPrecision, IsF16ThroughoutWhereThatCostsNothing) {
  const auto found = choose(0.01, {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_GE(found->layers.size(), 4u);
  EXPECT_TRUE(found->choice.f32_layers.empty());
  EXPECT_EQ(found->choice.accuracy, 1);
  EXPECT_EQ(made_, 3) << "exact, all in f16, and the one that is returned";
}

TEST_F(SessionPrecision, LeavesTheLayerInF32ThatCostsTooMuch) {
  const std::vector<std::string> layers = choose(0, {})->layers;
  ASSERT_GE(layers.size(), 4u);
  const auto found = choose(0.05, {{layers[1], 0.2}, {layers[2], 0.02}});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->choice.f32_layers, std::vector<std::string>{layers[1]});
  EXPECT_NEAR(found->choice.accuracy, 0.98, 1e-12);
  EXPECT_NE(found->device, nullptr);
}

TEST_F(SessionPrecision, ComparesAnswersWithThoseOfTheFirstSession) {
  const auto device = make_reference_device();
  Session same = *model_.session(*device);
  Session other = *open_model("zoo:lenet5", {.seed = 9})->session(*device);
  const SessionAccuracy accuracy = same_answers({});
  EXPECT_EQ(*accuracy(same), 1);
  EXPECT_EQ(*accuracy(same), 1);
  EXPECT_LT(*accuracy(other), 1);
}

}  // namespace
}  // namespace shoal
