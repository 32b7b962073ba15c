// The precision of layers, on devices that only say which they were asked for.
#include "shoal/gpu/session_precision.h"

#include <gtest/gtest.h>

#include "shoal/models/model.h"

namespace shoal {
namespace {

class SessionPrecision : public testing::Test {
 protected:
  // As if each layer in f16 cost as much accuracy as `loss` says.
  Result<AutomaticPrecision> choose(double budget, std::map<size_t, double> loss) {
    std::vector<std::string> f32, all;
    GpuPrecision precision = GpuPrecision::kF32;
    const auto make = [&](GpuPrecision asked, const std::vector<std::string>& f32_layers) {
      precision = asked;
      f32 = f32_layers;
      ++made_;
      return Result<std::unique_ptr<Device>>(make_reference_device());
    };
    const auto open = [&](Device& device) { return model_.session(device); };
    const auto accuracy = [&](Session&) -> Result<double> {
      if (precision == GpuPrecision::kF32) return 1.0;
      if (all.empty()) all = *layers();
      double left = 1;
      for (size_t i = 0; i < all.size(); ++i) {
        if (std::ranges::find(f32, all[i]) == f32.end() && loss.contains(i)) left -= loss.at(i);
      }
      return left;
    };
    return choose_precision(make, budget, {}, open, accuracy);
  }
  Result<std::vector<std::string>> layers() const {
    SHOAL_ASSIGN(const LoadedGraph loaded, model_.graph());
    return precision_layers(loaded.graph);
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
  const auto found = choose(0.05, {{1, 0.2}, {2, 0.02}});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->choice.f32_layers, std::vector<std::string>{found->layers[1]});
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
