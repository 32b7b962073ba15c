#include "shoal/fit_cluster/fit_cluster.h"

#include <filesystem>

#include "shoal/fit_cluster/other_networks.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/testing.h"

namespace shoal::fit_cluster {
namespace {

class Fitting : public shrink::Shrinking {
 protected:
  FitOptions fit_options() const {
    FitOptions fitted;
    fitted.cluster = "pi4";
    fitted.max_drop = 100;
    fitted.recipe = options().recipe;
    fitted.out = out_;
    return fitted;
  }
  Result<FitResult> fitted(const FitOptions& how) {
    return fit({*device_, *device_}, model_, data_, how);
  }
  static std::string names_of(const FitResult& result) {
    std::string names;
    for (const Attempt& attempt : result.attempts) names += attempt.name + "; ";
    return names;
  }
};

TEST_F(Fitting, StopsAtThePlanWhereThatIsFastEnough) {
  FitOptions how = fit_options();
  how.time = {.share = 1};
  const auto result = fitted(how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->met());
  EXPECT_EQ(names_of(*result), "plan; ");
  EXPECT_EQ(result->attempts[0].top1, result->top1_before);
  EXPECT_TRUE(open_model(out_.string()).ok());
}

TEST_F(Fitting, MakesTheNetworkSmallerAtLast) {
  FitOptions how = fit_options();
  how.time = {.share = 0.6};
  const auto result = fitted(how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(names_of(*result), "plan; f16 messages; int8 messages; smaller network; ");
  EXPECT_TRUE(result->met());
  EXPECT_LE(result->attempts.back().ms, 0.6 * result->attempts[0].ms);
  EXPECT_TRUE(result->attempts.back().top1.has_value());
}

TEST_F(Fitting, TriesOnlyWhatItIsToldTo) {
  FitOptions how = fit_options();
  how.cluster = "2xpi4/gigabit";
  how.time = {.ms = 1e-6};
  how.ways = {Way::kBranches};
  const auto result = fitted(how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(names_of(*result), "plan; branches; ");
  EXPECT_EQ(result->attempts.back().note, "even the narrowest branches take longer");
}

// As wide as the time allows: here each is the whole network. Branches that begin alike learn
// alike, so that passes may find them to be one.
TEST_F(Fitting, LetsBranchesLearn) {
  const FitOptions how = fit_options();
  const plan::ClusterProfile cluster = *plan::find_cluster("2xpi4/gigabit");
  const shrink::ShrinkDevices devices{*device_, *device_};
  std::vector<std::string> networks;
  const shrink::ShrinkCallbacks callbacks{.on_step = [&](const shrink::ShrinkStep& step) {
    if (networks.empty() || networks.back() != step.network) networks.emplace_back(step.network);
  }};
  const auto made =
      network_of_branches({devices, model_, data_, how, cluster, callbacks, /*ms=*/1000, out_});
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_TRUE(made->best) << made->why_not;
  EXPECT_EQ(networks, (std::vector<std::string>{"dense control", "branches"}));
  EXPECT_GE(made->macs, 16 * 8 + 8 * 4);
  EXPECT_GT(made->top1, 90);
  EXPECT_GT(made->top1_control, 90);
  EXPECT_TRUE(open_model(out_.string()).ok());
}

TEST_F(Fitting, SaysWhyAWayIsNone) {
  FitOptions how = fit_options();
  how.time = {.ms = 1e-12};
  how.ways = {Way::kBranches};
  const auto result = fitted(how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->attempts.back().note, "branches need two workers");
}

TEST(Ways, HaveWords) {
  EXPECT_EQ(find_way("smaller"), Way::kSmaller);
  EXPECT_EQ(find_way("branches"), Way::kBranches);
  EXPECT_EQ(find_way("messages"), Way::kMessages);
  EXPECT_FALSE(find_way("plan"));
}

TEST_F(Fitting, SaysWhenNothingMeetsTheTarget) {
  FitOptions how = fit_options();
  how.time = {.ms = 1e-12};
  const auto result = fitted(how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(names_of(*result),
            "plan; f16 messages; int8 messages; smaller network; clusters; branches; ");
  EXPECT_FALSE(result->met());
  EXPECT_FALSE(result->attempts.back().note.empty());
  EXPECT_FALSE(std::filesystem::exists(out_));
}

// One or two hidden units of eight are left, for four classes.
TEST_F(Fitting, WritesNothingThatLostTooMuch) {
  FitOptions how = fit_options();
  how.time = {.share = 0.35};
  how.max_drop = 1;
  how.ways = {Way::kSmaller};
  const auto result = fitted(how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->attempts.back().fast_enough);
  EXPECT_FALSE(result->met());
  EXPECT_TRUE(std::filesystem::is_empty(out_.parent_path()));
}

TEST_F(Fitting, RefusesOptionsWithoutMeaning) {
  for (const auto change :
       {+[](FitOptions& o) { o.cluster = "4xabacus/string"; },
        +[](FitOptions& o) { o.time = {.ms = 1, .share = 1}; },
        +[](FitOptions& o) { o.max_drop = -1; }, +[](FitOptions& o) { o.out.clear(); }}) {
    FitOptions how = fit_options();
    change(how);
    EXPECT_EQ(fitted(how).status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shoal::fit_cluster
