// Branches in words, and what is known of them.
#include "shoal/shrink/branches/branch_report.h"

#include <gtest/gtest.h>

#include "shoal/plan/device_presets.h"
#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::branch {
namespace {

Result<plan::ClusterProfile> pis(size_t count) {
  return plan::uniform_cluster(count, *plan::find_device("pi3"), *plan::find_link("ethernet-100"));
}

class Reports : public shrink::Shrinking {
 protected:
  std::string problem(const BranchWords& words) const {
    const auto widths = widths_of(words, graph_, 0, pis);
    return widths.ok() ? "" : std::string(widths.status().message());
  }
  LearnOptions options() const {
    LearnOptions options{.recipe = shrink::Shrinking::options().recipe, .out = out_};
    options.recipe.epochs = 1;
    return options;
  }

  const Graph graph_ = shrink::as_given(model_)(1)->graph;
};

TEST_F(Reports, TakeWidthsInWords) {
  const auto widths = [&](const BranchWords& words) { return *widths_of(words, graph_, 0, pis); };
  EXPECT_EQ(widths({.branches = "4"}), equal_widths(4));
  EXPECT_EQ(widths({.widths = "1,2.5,4"}), (std::vector<double>{1, 2.5, 4}));
  EXPECT_EQ(widths({.widths = "auto"}).size(), 2U) << "one for each worker";
  EXPECT_EQ(problem({.branches = "many"}), "branches takes a number, or auto, not many");
  EXPECT_EQ(problem({.branches = "-1"}), "branches takes a number, or auto, not -1");
  EXPECT_EQ(problem({.branches = std::to_string(kMostBranches + 1)}), "branches is out of range");
  EXPECT_EQ(problem({.widths = "1,,2"}), "widths takes numbers such as 1,2,4, or auto, not ");
  EXPECT_EQ(problem({.widths = "1,2x"}), "widths takes numbers such as 1,2,4, or auto, not 2x");
  EXPECT_EQ(problem({}), "one worker has the memory for the whole network: say how many branches");
  // Where it has not, there are as few branches as fit.
  const auto small = [](size_t count) -> Result<plan::ClusterProfile> {
    plan::ClusterProfile cluster = *pis(count);
    for (plan::WorkerProfile& worker : cluster.workers) worker.memory_bytes = 700;
    return cluster;
  };
  const auto fewest = widths_of({}, graph_, 0, small);
  ASSERT_TRUE(fewest.ok()) << fewest.status().message();
  EXPECT_GT(fewest->size(), 1U);
}

TEST_F(Reports, TakeFatteningInWords) {
  LearnOptions all;
  ASSERT_TRUE(set_fatten("20", 1, all).ok());
  EXPECT_EQ(all.branches.fatten, 20);
  EXPECT_FALSE(all.max_drop.has_value());
  ASSERT_TRUE(set_fatten("auto", 1.5, all).ok());
  EXPECT_EQ(all.max_drop, 1.5);
  EXPECT_EQ(set_fatten("fat", 1, all).message(),
            "fatten takes a number of percent, or auto, not fat");
}

TEST_F(Reports, PredictWithoutLearning) {
  const auto report = report_branches(*device_, model_, options(), {.branches = "4"}, pis, nullptr);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->branches, 4U);
  EXPECT_FALSE(report->learned.has_value());
  EXPECT_GT(report->sizes.macs, 0);
  ASSERT_TRUE(report->times.has_value()) << report->no_times;
  EXPECT_EQ(report->times->messages, 8U);
  EXPECT_TRUE(open_model(out_.string()).ok()) << "it is written all the same";
}

TEST_F(Reports, SayWhyThereAreNoTimes) {
  const auto tiny = [](size_t count) -> Result<plan::ClusterProfile> {
    plan::ClusterProfile cluster = *pis(count);
    for (plan::WorkerProfile& worker : cluster.workers) worker.memory_bytes = 1;
    return cluster;
  };
  const auto report =
      report_branches(*device_, model_, options(), {.branches = "4"}, tiny, nullptr);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->times.has_value());
  EXPECT_NE(report->no_times, "");
}

TEST_F(Reports, HaveWhatWasLearned) {
  const auto report = report_branches(*device_, model_, options(), {.branches = "2"}, pis,
                                      [&]() -> Result<fit::JudgedData> { return data_; });
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->learned.has_value());
  EXPECT_EQ(report->sizes.macs, report->learned->sizes.macs);
  EXPECT_EQ(report->learned->top1_lost.size(), 2U);
  const auto failed = report_branches(
      *device_, model_, options(), {.branches = "2"}, pis,
      []() -> Result<fit::JudgedData> { return Status(Code::kNotFound, "no data"); });
  EXPECT_EQ(failed.status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace shoal::branch
