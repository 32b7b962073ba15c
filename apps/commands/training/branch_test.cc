#include "apps/commands/training/branch.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/prune/shrink_options.h"

namespace shoal::branch {
namespace {

TEST(BranchSettings, LearnAsNetworksThatWereShrunk) {
  BranchSettings settings;
  expect_described(settings_of(settings));
  fit::TrainingOptions recipe = shrink::usual_recipe();
  recipe.out = "lcp.onnx";
  recipe.checkpoint = "c";
  const auto options = resolve(settings, recipe);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->out, "lcp.onnx");
  EXPECT_EQ(options->recipe.checkpoint, "");
  EXPECT_EQ(options->recipe.loss.distill, recipe.loss.distill);
  EXPECT_EQ(options->recipe.loss.temperature, recipe.loss.temperature);
  EXPECT_EQ(options->branches.merge, Merge::kAuto);
  EXPECT_FALSE(options->max_drop);
}

TEST(BranchSettings, AreRead) {
  BranchSettings settings;
  settings.distill = 0.25F;
  settings.fatten = "auto";
  settings.max_drop = 2;
  for (const auto& [word, merge] :
       {std::pair("sum", Merge::kSum), std::pair("concat", Merge::kConcat)}) {
    settings.merge = word;
    const auto options = resolve(settings, {});
    ASSERT_TRUE(options.ok()) << options.status().message();
    EXPECT_EQ(options->branches.merge, merge);
    EXPECT_EQ(options->recipe.loss.distill, 0.25F);
    EXPECT_EQ(options->max_drop, 2);
  }
  settings.fatten = "much";
  EXPECT_EQ(resolve(settings, {}).status().code(), Code::kInvalidArgument);
}

TEST(BranchSettings, NeedTheFormatOfData) {
  fit::TrainingOptions recipe;
  recipe.data = "d";
  EXPECT_EQ(resolve({}, recipe).status().message(), "data needs format");
  recipe.format = "npy";
  EXPECT_TRUE(resolve({}, recipe).ok());
}

BranchReport a_report() {
  BranchReport report{.branches = 4};
  report.sizes = {.parameters = 1'500'000,
                  .parameters_dense = 3'000'000,
                  .macs = 2'000'000,
                  .macs_dense = 8'000'000,
                  .merge = Merge::kConcat,
                  .whole = {"conv1"}};
  report.no_times = "too large";
  return report;
}

TEST(BranchFacts, LeaveOutWhatWasNotLearned) {
  Json json = to_json(a_report());
  EXPECT_EQ(json["merge"].dump(), "\"concat\"");
  EXPECT_EQ(json["messages"].dump(), "8") << "to each branch and back";
  EXPECT_EQ(json.dump().find("top1"), std::string::npos);
  EXPECT_EQ(json.dump().find("\"ms\""), std::string::npos);
  const auto rows = rows_of(a_report());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0].cell, "4 branches");
  EXPECT_EQ(rows[0][1].cell, "");
  EXPECT_EQ(rows[1][3].cell, "8.000 M");
  EXPECT_EQ(lines_of(a_report()), (std::vector<std::string>{"whole in every branch: conv1",
                                                            "no predicted times: too large"}));
}

TEST(BranchFacts, CompareWhatWasLearned) {
  BranchReport report = a_report();
  report.learned = LearnResult{.top1 = 90,
                               .top1_dense = 91,
                               .top1_same_macs = 89,
                               .top1_lost = {80, 70, 85},
                               .macs_same = 1'000'000};
  const auto rows = rows_of(report);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0][1].cell, "90.00 %");
  EXPECT_EQ(rows[2][0].cell, "same work");
  EXPECT_EQ(rows[2][3].cell, "1.000 M");
  EXPECT_EQ(lines_of(report).at(0), "one branch lost: top-1 70.00 % at worst");
  EXPECT_EQ(to_json(report)["top1_lost"].dump(), "[80.0,70.0,85.0]");
}

// Any plan, which takes `seconds`.
plan::Prediction taking(double seconds) {
  Graph graph;
  graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", {DType::kF32, {1, 4}})}));
  plan::Prediction made =
      plan::compare_plans(
          graph, plan::uniform_cluster(1, *plan::find_device("pi4"), *plan::find_link("gigabit")),
          {})
          ->best();
  made.timeline.seconds = seconds;
  return made;
}

TEST(Advice, SaysWhatIsBetterThanBranches) {
  const Comparison slow{.branches = taking(0.25), .ordinary = taking(0.1)},
      fast{.branches = taking(0.1), .ordinary = taking(0.25)};
  LearnResult worse, better;
  worse.top1 = 80;
  worse.top1_same_macs = 81.5;
  better.top1 = 80;
  better.top1_same_macs = 79;
  EXPECT_TRUE(advice({}, {}).empty());
  EXPECT_TRUE(advice(better, fast).empty());
  EXPECT_EQ(advice({}, slow),
            std::vector<std::string>{"The ordinary plan of the network as it is takes 100.0 ms, "
                                     "the branches 250.0 ms: branches do not pay here."});
  EXPECT_EQ(
      advice(worse, fast),
      std::vector<std::string>{"A single network of the same work is better by 1.50 points."});
  EXPECT_EQ(advice(worse, slow).size(), 2u);
}

}  // namespace
}  // namespace shoal::branch
