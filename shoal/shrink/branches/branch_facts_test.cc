// Results for scripts and for people.
#include "shoal/shrink/branches/branch_facts.h"

#include <gtest/gtest.h>

namespace shoal::branch {
namespace {

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

}  // namespace
}  // namespace shoal::branch
