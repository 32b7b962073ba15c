#include "apps/commands/training/search.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::search {
namespace {

TEST(SearchSettings, AreTheDefaultsOfTheSearch) {
  SearchSettings settings;
  expect_described(settings_of(settings));
  settings.options.out = "found";
  fit::TrainingOptions recipe;
  recipe.epochs = 3;
  recipe.checkpoint = "c";
  const auto options = resolve(settings, recipe);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->macs, SearchOptions().macs);
  EXPECT_EQ(options->recipe.epochs, 3);
  EXPECT_EQ(options->recipe.checkpoint, "") << "each network would write the same one";
}

TEST(SearchSettings, AreChecked) {
  SearchSettings settings;
  settings.options.out = "found";
  settings.options.device = "abacus";
  EXPECT_EQ(resolve(settings, {}).status().code(), Code::kInvalidArgument);
}

TEST(SearchFacts, BeginWithTheMostAccurate) {
  const SearchResult result{.found = {{.name = "a",
                                       .ms = 2.5,
                                       .top1 = 90,
                                       .macs = 1'000'000,
                                       .parameters = 12,
                                       .on_front = true},
                                      {.name = "b", .ms = 3, .top1 = 80}},
                            .test_top1 = 89,
                            .fastest_ms = 1.25,
                            .staged_ms = 4,
                            .drawn = 20,
                            .simulated = 4};
  Json json = to_json(result);
  EXPECT_EQ(json["best"].dump(), "\"a\"");
  EXPECT_EQ(json["ms"].dump(), "2.5");
  EXPECT_EQ(json["found"][1]["front"].dump(), "false");
  const auto rows = rows_of(result);
  ASSERT_EQ(rows.size(), 2u);
  std::vector<std::string> cells;
  for (const Fact& fact : rows[0]) cells.push_back(fact.cell);
  EXPECT_EQ(cells, (std::vector<std::string>{"a", "90.00 %", "2.500", "1.00 M", "12", "*"}));
  EXPECT_EQ(rows[1].back().cell, "");
  EXPECT_EQ(lines_of(result).at(0),
            "a: 89.00 % on test images; the fastest network takes 1.250 ms, with stages 4.000");
}

}  // namespace
}  // namespace shoal::search
