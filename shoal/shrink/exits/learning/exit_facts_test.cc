// Results for scripts and for people.
#include "shoal/shrink/exits/learning/exit_facts.h"

#include <gtest/gtest.h>

namespace shoal::exits {
namespace {

TEST(ExitsFacts, AreARowForEachExitAndTheLast) {
  ExitsResult result;
  result.exits = {{.at = "pool1", .scores = "s1", .threshold = 0.875},
                  {.at = "pool2", .scores = "s2", .threshold = kNever}};
  result.stage_macs = {1'000'000, 2'000'000, 4'000'000};
  result.macs_before = 6'500'000;
  result.top1 = {80, 90, 95};
  result.test = {.top1 = 94, .share = {0.5, 0, 0.5}, .precision = {99, 0, 89}, .mean_macs = 4e6};
  result.top1_before = 96;
  const auto rows = rows_of(result);
  ASSERT_EQ(rows.size(), 3u);
  std::vector<std::string> cells;
  for (const Facts& row : rows) {
    for (const Fact& fact : row) cells.push_back(fact.cell);
  }
  EXPECT_EQ(cells, (std::vector<std::string>{
                       "pool1", "80.00 %", "0.8750", "50.0 %", "99.00 %", "1.000 M",  //
                       "pool2", "90.00 %", "never", "0.0 %", "0.00 %", "3.000 M",     //
                       "the last", "95.00 %", "", "50.0 %", "89.00 %", "7.000 M"}));
  EXPECT_EQ(lines_of(result).at(0),
            "all: top-1 94.00 %, 4.000 M MACs per image; before: 96.00 %, 6.500 M");
  Json json = to_json(result);
  EXPECT_EQ(json["top1"].dump(), "94.0") << "with exits";
  EXPECT_EQ(json["top1_last"].dump(), "95.0");
  EXPECT_EQ(json["exits"][0].dump(),
            R"({"at":"pool1","scores":"s1","threshold":0.875,"top1":80.0})");
  EXPECT_EQ(json["held_out"]["mean_macs"].dump(), "0.0");
}

}  // namespace
}  // namespace shoal::exits
