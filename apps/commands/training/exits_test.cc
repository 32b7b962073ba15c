#include "apps/commands/training/exits.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::exits {
namespace {

TEST(ExitsSettings, AreDescribed) {
  ExitsSettings settings;
  expect_described(joined({exit_settings(settings), calibration_settings(settings)}));
}

TEST(ExitsSettings, AreTheDefaultsOfExits) {
  fit::TrainingOptions recipe;
  recipe.seed = 9;
  recipe.checkpoint = "c";
  const auto options = resolve({}, recipe);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->automatic, ExitsOptions().automatic);
  EXPECT_EQ(options->head.kind, HeadOptions().kind);
  EXPECT_EQ(options->head.seed, 9U);
  EXPECT_TRUE(options->norms);
  EXPECT_FALSE(options->max_drop);
  EXPECT_EQ(options->recipe.checkpoint, "");
  EXPECT_EQ(options->recipe.loss.temperature, recipe.loss.temperature);
  EXPECT_EQ(options->recipe.feature_cache_bytes, recipe.feature_cache_bytes);
}

TEST(ExitsSettings, AreRead) {
  ExitsSettings settings;
  settings.options.out = "multi.onnx";
  settings.at = {"auto:3"};
  settings.head = "pool";
  settings.no_norms = true;
  settings.max_drop = 0;
  settings.feature_cache_mb = 2;
  settings.loss.focal = 2;
  const auto options = resolve(settings, {});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->automatic, 3u);
  EXPECT_EQ(options->head.kind, HeadOptions::Kind::kPool);
  EXPECT_EQ(options->max_drop, 0);
  EXPECT_FALSE(options->norms);
  EXPECT_EQ(options->recipe.feature_cache_bytes, 2'000'000u);
  EXPECT_EQ(options->recipe.loss.focal, 2);
  EXPECT_EQ(options->recipe.out, "multi.onnx");
  settings.at = {"auto:x"};
  EXPECT_EQ(resolve(settings, {}).status().code(), Code::kInvalidArgument);
}

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

using Words = std::vector<std::string>;

TEST(ExitWords, PlaceExits) {
  ExitsOptions options{.automatic = 7};
  ASSERT_TRUE(set_places({"auto"}, options).ok());
  EXPECT_EQ(options.automatic, 7U);
  ASSERT_TRUE(set_places({"auto:3"}, options).ok());
  EXPECT_EQ(options.automatic, 3U);
  EXPECT_TRUE(options.at.empty());
  for (const Words& names : {Words{"auto", "b"}, Words{"automatic"}, Words{"a"}}) {
    ASSERT_TRUE(set_places(names, options).ok());
    EXPECT_EQ(options.at, names) << "they are names of values";
  }
  for (const char* text : {"auto:", "auto:0", "auto:x", "auto:2x", "auto:-1"}) {
    EXPECT_EQ(set_places({text}, options).message(),
              std::string("at takes names of values, or auto:2 for two exits, not ") + text);
  }
}

TEST(ExitWords, GiveThresholds) {
  const std::vector<Exit> exits = {{.threshold = 0.7}, {.threshold = 0.8}};
  EXPECT_EQ(*thresholds_in("calibrated", exits), (std::vector<double>{0.7, 0.8}));
  EXPECT_EQ(*thresholds_in("0.9,1.5", exits), (std::vector<double>{0.9, 1.5}));
  for (const char* text : {"x,1", "0.9,-1", "0.9,nan", "0.9,,1", "0.9 ,1"}) {
    EXPECT_EQ(thresholds_in(text, exits).status().message(),
              std::string("exits takes probabilities such as 0.9,0.95, not ") + text);
  }
  for (const char* text : {"", "0.9", "0.9,0.9,0.9"}) {
    EXPECT_EQ(thresholds_in(text, exits).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(thresholds_in("0.9", exits).status().message(),
            "exits has 1 probabilities for 2 exits");
}

}  // namespace
}  // namespace shoal::exits
