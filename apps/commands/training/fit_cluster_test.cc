#include "apps/commands/training/fit_cluster.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"
#include "shoal/report/pages/search_page.h"

namespace shoal::fit_cluster {
namespace {

FitSettings complete() {
  FitSettings settings;
  settings.options.out = "fitted.onnx";
  return settings;
}

TEST(FitSettings, TryAllWaysUnlessSomeAreNamed) {
  FitSettings settings = complete();
  expect_described(settings_of(settings));
  const auto all = resolve(settings, {});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->ways, FitOptions().ways);
  EXPECT_EQ(all->time, (shrink::TimeTarget{.share = 0.5}));
  settings.ways = {"smaller", "branches"};
  settings.target = "ms=40";
  settings.distill = 0.25F;
  fit::TrainingOptions recipe;
  recipe.checkpoint = "c";
  const auto some = resolve(settings, recipe);
  ASSERT_TRUE(some.ok()) << some.status().message();
  EXPECT_EQ(some->ways, (std::set<Way>{Way::kSmaller, Way::kBranches}));
  EXPECT_EQ(some->time, (shrink::TimeTarget{.ms = 40}));
  EXPECT_EQ(some->recipe.loss.distill, 0.25F);
  EXPECT_EQ(some->recipe.checkpoint, "");
}

TEST(FitSettings, NeedATime) {
  FitSettings settings = complete();
  settings.target = "macs=0.5";
  EXPECT_EQ(resolve(settings, {}).status().message(), "target is a time: ms=40 or ms=0.5x");
  settings.target = "soon";
  EXPECT_EQ(resolve(settings, {}).status().code(), Code::kInvalidArgument);
}

FitResult result() {
  return {.target_ms = 40,
          .top1_before = 91,
          .attempts = {{.name = "plan", .ms = 80, .bytes = 12'345},
                       {.name = "smaller network",
                        .ms = 39,
                        .bytes = 1000,
                        .macs = 2'500'000,
                        .top1 = 90.5,
                        .top1_control = 91.25,
                        .fast_enough = true,
                        .accurate_enough = true}}};
}

TEST(FitFacts, SayWhatIsNotKnownAsNull) {
  Json json = to_json(result());
  EXPECT_EQ(json["met"].dump(), "true");
  EXPECT_EQ(json["ms_target"].dump(), "40.0");
  EXPECT_EQ(json["attempts"][0]["top1"].dump(), "null");
  EXPECT_EQ(json["attempts"][0]["fast_enough"].dump(), "false");
  EXPECT_EQ(json["attempts"][1]["top1_dense_control"].dump(), "91.25");
  EXPECT_EQ(json["attempts"][1]["macs"].dump(), "2500000");
  EXPECT_EQ(json["attempts"][1].members().count("verdict"), 0u) << "for people only";
}

TEST(FitFacts, AreARowForEachAttempt) {
  const auto rows = rows_of(result());
  ASSERT_EQ(rows.size(), 2u);
  std::vector<std::string> cells;
  for (const Fact& fact : rows[1]) {
    if (!fact.column.empty()) cells.push_back(fact.cell);
  }
  EXPECT_EQ(cells, (std::vector<std::string>{"smaller network", "39.00", in_bytes(1000), "2.5 M",
                                             "90.50 %", "91.25 %", "meets the target"}));
  EXPECT_EQ(lines_of(result()),
            std::vector<std::string>{"wanted: 40.00 ms; top-1 of the model as given: 91.00 %"});
}

TEST(FitFacts, SayWhyAnAttemptFailed) {
  Attempt attempt{.name = "plan"};
  EXPECT_EQ(report::verdict_of(attempt), "too slow");
  EXPECT_EQ(report::top1_of(attempt), "");
  attempt.fast_enough = true;
  EXPECT_EQ(report::verdict_of(attempt), "loses too much");
  attempt.note = "no such layers";
  EXPECT_EQ(report::verdict_of(attempt), "no such layers");
  attempt.accurate_enough = true;
  EXPECT_EQ(report::verdict_of(attempt), "meets the target");
}

}  // namespace
}  // namespace shoal::fit_cluster
