#include "shoal/shrink/fit_cluster/fit_cluster.h"

#include <algorithm>
#include <filesystem>

#include "shoal/base/math/random.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/fit_cluster/other_networks.h"
#include "shoal/shrink/prune/shrink_testing.h"

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
  const plan::WireOptions wide_ = {};  // messages stay as they are

  static std::string names_of(const FitResult& result) {
    std::string names;
    for (const Attempt& attempt : result.attempts) names += attempt.name + "; ";
    return names;
  }
};

TEST_F(Fitting, StopsAtThePlanWhereThatIsFastEnough) {
  FitOptions options = fit_options();
  options.time = {.share = 1};
  const auto result = fitted(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->met());
  EXPECT_EQ(names_of(*result), "plan; ");
  EXPECT_EQ(result->attempts[0].top1, result->top1_before);
  EXPECT_TRUE(open_model(out_.string()).ok());
}

TEST_F(Fitting, MakesTheNetworkSmallerAtLast) {
  FitOptions options = fit_options();
  options.time = {.share = 0.6};
  const auto result = fitted(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(names_of(*result), "plan; f16 messages; int8 messages; smaller network; ");
  EXPECT_TRUE(result->met());
  EXPECT_LE(result->attempts.back().ms, 0.6 * result->attempts[0].ms);
  EXPECT_TRUE(result->attempts.back().top1.has_value());
}

// The image is a message, too: what travels in a byte is there earlier.
TEST_F(Fitting, JudgesMessagesThatAreFastEnough) {
  FitOptions options = fit_options();
  options.cluster = "2xnexus5/wifi-43.8";
  options.ways = {Way::kMessages};
  options.time = {.ms = 1e-12};
  const auto tried = fitted(options);
  ASSERT_TRUE(tried.ok()) << tried.status().message();
  ASSERT_EQ(names_of(*tried), "plan; f16 messages; int8 messages; ");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tried->attempts[i].top1.has_value(), i == 0);
    if (i > 0) {
      EXPECT_LT(tried->attempts[i].ms, tried->attempts[i - 1].ms);
      EXPECT_LT(tried->attempts[i].bytes, tried->attempts[i - 1].bytes);
    }
  }
  options.time = {.ms = tried->attempts[2].ms};
  const auto met = fitted(options);
  ASSERT_TRUE(met.ok()) << met.status().message();
  EXPECT_TRUE(met->met());
  ASSERT_EQ(met->attempts.size(), 3u);
  EXPECT_NEAR(met->attempts[2].top1.value(), met->top1_before, 10);
  EXPECT_TRUE(open_model(out_.string()).ok());
}

// What neither messages nor a smaller network reaches alone.
TEST_F(Fitting, MakesTheNetworkSmallerForMessagesOfFewerBytes) {
  FitOptions options = fit_options();
  options.cluster = "2xnexus5/wifi-43.8";
  options.ways = {Way::kMessages};
  options.time = {.ms = 1e-12};
  const auto messages = fitted(options);
  ASSERT_TRUE(messages.ok()) << messages.status().message();
  constexpr double kLess = 1e-4;  // milliseconds: some of the units
  options.time = {.ms = messages->attempts.back().ms - kLess};
  options.ways = {Way::kSmaller};
  const auto alone = fitted(options);
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_FALSE(alone->met());
  options.ways = {Way::kMessages, Way::kSmaller};
  const auto both = fitted(options);
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_EQ(names_of(*both), "plan; f16 messages; int8 messages; smaller network, int8 messages; ");
  EXPECT_TRUE(both->met());
  EXPECT_LT(both->attempts.back().macs, both->attempts[0].macs);
  EXPECT_TRUE(both->attempts.back().top1_control.has_value());
}

TEST_F(Fitting, TriesOnlyWhatItIsToldTo) {
  FitOptions options = fit_options();
  options.cluster = "2xpi4/gigabit";
  options.time = {.ms = 1e-6};
  options.ways = {Way::kBranches};
  const auto result = fitted(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(names_of(*result), "plan; branches; ");
  EXPECT_EQ(result->attempts.back().note, "even the narrowest branches take longer");
}

// As wide as the time allows: here each is the whole network. Branches that begin alike learn
// alike, so that passes may find them to be one.
TEST_F(Fitting, LetsBranchesLearn) {
  const FitOptions options = fit_options();
  const plan::ClusterProfile cluster = *plan::find_cluster("2xpi4/gigabit");
  const shrink::ShrinkDevices devices{*device_, *device_};
  std::vector<std::string> networks;
  const shrink::ShrinkCallbacks callbacks{.on_step = [&](const shrink::ShrinkStep& step) {
    if (networks.empty() || networks.back() != step.network) networks.emplace_back(step.network);
  }};
  const auto result = network_of_branches(
      {devices, model_, data_, options, cluster, callbacks, wide_, /*ms=*/1000, out_});
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_FALSE(result->plans.empty()) << result->why_not;
  EXPECT_EQ(networks, (std::vector<std::string>{"dense control", "branches"}));
  EXPECT_GE(result->macs, 16 * 8 + 8 * 4);
  EXPECT_GT(result->top1, 90);
  EXPECT_GT(result->top1_control, 90);
  EXPECT_TRUE(open_model(out_.string()).ok());
}

// x [1, 1, 4, 4] -> Flatten -> fc1, which is worth a message -> Relu -> fc2 [1, 4].
Graph wide_network() {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 1, 4, 4}});
  x = *graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}});
  const auto add_layer = [&](const std::string& name, int64_t outputs, int64_t inputs) {
    Tensor weight({DType::kF32, {outputs, inputs}});
    fill_normal(weight.data<float>(), RandomStream(7, static_cast<uint64_t>(outputs)), 0.1);
    const ValueId bias = graph.add_constant(name + ".bias", Tensor({DType::kF32, {outputs}}));
    x = *graph.add(ops::gemm, {x, graph.add_constant(name + ".weight", weight), bias},
                   {{"transB", int64_t{1}}});
  };
  add_layer("fc1", 256, 16);
  x = *graph.add(ops::relu, {x});
  add_layer("fc2", 4, 256);
  graph.mark_output(x);
  return graph;
}

TEST_F(Fitting, LetsClustersLearn) {
  const FitOptions options = fit_options();
  const plan::ClusterProfile cluster = *plan::find_cluster("2xpi4/gigabit");
  const shrink::ShrinkDevices devices{*device_, *device_};
  const Model model = shrink::model_of(wide_network());
  std::vector<std::string> networks;
  const shrink::ShrinkCallbacks callbacks{.on_step = [&](const shrink::ShrinkStep& step) {
    if (networks.empty() || networks.back() != step.network) networks.emplace_back(step.network);
  }};
  Task task{devices, model, data_, options, cluster, callbacks, wide_, /*ms=*/1000, out_};
  const auto result = network_of_clusters(task);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_FALSE(result->plans.empty()) << result->why_not;
  EXPECT_EQ(networks, (std::vector<std::string>{"dense control", "sparse clusters"}));
  EXPECT_GT(result->top1, 90);
  EXPECT_GT(result->top1_control, 90);
  // Any accuracy may be lost here, so that nearly all outliers go: half of the weights.
  const Model written = *open_model(out_.string());
  const LoadedGraph loaded = *written.graph();
  for (const ValueId id : loaded.graph.nodes()[1].inputs) {
    const Value& value = loaded.graph[id];
    if (!value.constant || value.constant->count() != 16 * 256) continue;
    const auto zeros = std::ranges::count(value.constant->data<float>(), 0.F);
    EXPECT_NEAR(static_cast<double>(zeros), 16 * 128, 256);
  }
  task.ms = 1e-9;
  const auto none = network_of_clusters(task);
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_TRUE(none->why_not.starts_with("perfect blocks would take ")) << none->why_not;
}

TEST_F(Fitting, SaysWhyAWayIsNone) {
  FitOptions options = fit_options();
  options.time = {.ms = 1e-12};
  options.ways = {Way::kBranches};
  const auto result = fitted(options);
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
  FitOptions options = fit_options();
  options.time = {.ms = 1e-12};
  const auto result = fitted(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(names_of(*result),
            "plan; f16 messages; int8 messages; smaller network; clusters; branches; ");
  EXPECT_FALSE(result->met());
  EXPECT_FALSE(result->attempts.back().note.empty());
  EXPECT_FALSE(std::filesystem::exists(out_));
}

// One or two hidden units of eight are left, for four classes.
TEST_F(Fitting, WritesNothingThatLostTooMuch) {
  FitOptions options = fit_options();
  options.time = {.share = 0.35};
  options.max_drop = 1;
  options.ways = {Way::kSmaller};
  const auto result = fitted(options);
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
    FitOptions options = fit_options();
    change(options);
    EXPECT_EQ(fitted(options).status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shoal::fit_cluster
