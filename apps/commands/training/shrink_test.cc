#include "apps/commands/training/shrink.h"

#include <gtest/gtest.h>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/text/setting_testing.h"
#include "shoal/engine/inputs/npy.h"

namespace shoal::shrink {
namespace {

// The cells of a row.
std::string text_of(const Facts& row) {
  std::string text;
  for (const Fact& fact : row) text += (text.empty() ? "" : "|") + fact.cell;
  return text;
}

ShrinkResult a_result() {
  ShrinkResult result;
  result.small = {.top1 = 97.5, .size = {.macs = 100'000, .parameters = 700}, .ms = 0.25};
  result.dense = {.top1 = 98, .size = {.macs = 400'000, .parameters = 2'000}, .ms = {}};
  result.top1_before = 98.25;
  result.removed = {{.weights = "w", .axis = 1, .before = 8, .left = 3}};
  result.refused = {{.weights = "v", .axis = 0, .indices = 4, .reason = "an output"}};
  return result;
}

TEST(ShrinkFacts, NameWhatIsKnownAndLeaveTheRestNull) {
  ShrinkResult result = a_result();
  Json json = to_json(result, {.out = "/no/such/file"});
  EXPECT_EQ(json["top1"].dump(), "97.5");
  EXPECT_EQ(json["ms"].dump(), "0.25");
  EXPECT_EQ(json["device"].dump(), "\"here\"");
  EXPECT_EQ(json["removed"].dump(), R"([{"axis":1,"before":8,"left":3,"weights":"w"}])");
  EXPECT_EQ(json["refused"].dump(),
            R"([{"axis":0,"indices":4,"reason":"an output","weights":"v"}])");
  for (const char* name : {"ms_before", "ms_predicted", "top1_random", "int8", "sensitivity"}) {
    EXPECT_EQ(json[name].dump(), "null") << name;
  }
  result.int8 = InEightBits{.top1_real = 97, .left = {"y"}, .notes = {}};
  result.sensitivity = Sensitivity{.top1 = 90, .examples = 10, .groups = {{.weights = "w"}}};
  json = to_json(result, {.device = "pi4"});
  EXPECT_EQ(json["int8"].dump(), R"({"left":["y"],"notes":[],"top1_real":97.0})");
  EXPECT_EQ(json["sensitivity"]["groups"][0]["weights"].dump(), "\"w\"");
  EXPECT_EQ(json["device"].dump(), "\"pi4\"");
}

TEST(ShrinkFacts, AreARowForEachNetwork) {
  ShrinkResult result = a_result();
  EXPECT_EQ(rows_of(result, {}).size(), 2u);
  EXPECT_EQ(text_of(rows_of(result, {})[0]), "smaller|97.50 %|0.100 M|700|0.250");
  EXPECT_EQ(text_of(rows_of(result, {})[1]), "dense control|98.00 %|0.400 M|2000|");
  result.missed = {result.small};
  result.top1_scratch = 50;
  const auto rows = rows_of(result, {});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1][0].cell, "lost too much");
  EXPECT_EQ(text_of(rows[3]), "from scratch|50.00 %|0.100 M|700|0.250");
}

TEST(ShrinkFacts, SayWhatWasPredictedForADevice) {
  ShrinkResult result = a_result();
  EXPECT_TRUE(lines_of(result, {}).empty());
  result.ms_predicted = 1;
  result.ms_predicted_before = 2;
  EXPECT_EQ(lines_of(result, {}).at(0), "predicted: 1.0000 ms, 2.0000 ms before");
  EXPECT_EQ(lines_of(result, {.device = "pi4"}).at(0),
            "predicted: 1.0000 ms, 2.0000 ms before, on pi4");
}

TEST(ShrinkFacts, WarnOfRecipesThatHarmAndControlsThatWin) {
  ShrinkResult result = a_result();
  EXPECT_TRUE(result.warnings().empty());
  result.top1_before = 99.5;
  result.top1_random = 98;
  const auto warnings = result.warnings();
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("from 99.50 to 98.00 %"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[1].find("'random' is better"), std::string::npos) << warnings[1];
}

TEST(ShrinkFacts, SayWhatWasWrittenWhereTheTargetCostTooMuch) {
  ShrinkResult result = a_result();
  EXPECT_EQ(result.missed_bound(1), "");
  result.missed = {{.top1 = 96, .size = {}, .ms = {}}};
  EXPECT_EQ(result.missed_bound(1),
            "the target costs 2.00 points of top-1, not 1.00: a network that lost less is written");
  result.removed.clear();
  EXPECT_EQ(result.missed_bound(1),
            "the target costs 2.00 points of top-1, not 1.00: the dense control is written");
}

TEST(TPruneFacts, LeaveOutWhatNobodyJudged) {
  TPruneResult result;
  result.size = {.macs = 1'000'000, .parameters = 10};
  result.before = {.macs = 2'000'000, .parameters = 20};
  result.removed = {{.weights = "w", .axis = 0, .before = 4, .left = 2}};
  result.blocks = {{.weights = "w", .row = 1, .column = 2, .rows = 0.5, .columns = 0.25}};
  Json json = to_json(result);
  EXPECT_EQ(json["score"].dump(), "null");
  EXPECT_EQ(json["blocks"].dump(),
            R"([{"column":2,"row":1,"sparse_columns":0.25,"sparse_rows":0.5,"weights":"w"}])");
  EXPECT_EQ(text_of(rows_of(result)[0]), "smaller||1.000 M|10|");
  EXPECT_EQ(rows_of(result).size(), 2u);
  result.score_control = 81.5;
  result.ms = 0.5;
  EXPECT_EQ(text_of(rows_of(result).at(2)), "dense control|81.50|2.000 M|20|");
  EXPECT_EQ(text_of(rows_of(result)[0]), "smaller||1.000 M|10|0.5000");
  EXPECT_EQ(lines_of(result), std::vector<std::string>{"w: 2 of 4 left"});
}

TEST(TPruneSettings, AreRead) {
  TPruneSettings settings;
  expect_described(settings_of(settings));
  const auto usual = resolve(settings);
  ASSERT_TRUE(usual.ok()) << usual.status().message();
  EXPECT_EQ(usual->target.macs, 0.5);
  EXPECT_EQ(usual->sparse.penalty, train::Regularizer::Penalty::kHoyer);
  EXPECT_EQ(usual->recipe.optimizer.rule, train::OptimizerOptions::Rule::kAdam);
  settings.target = "parameters=0.3";
  settings.penalty = "lasso";
  settings.optimizer = "sgd";
  const auto other = resolve(settings);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->target.parameters, 0.3);
  EXPECT_EQ(other->sparse.penalty, train::Regularizer::Penalty::kLasso);
  EXPECT_EQ(other->recipe.optimizer.rule, train::OptimizerOptions::Rule::kSgd);
  settings.target = "small";
  EXPECT_EQ(resolve(settings).status().code(), Code::kInvalidArgument);
}

TEST(TPruneSettings, NameTheArraysThatThereAre) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  TPruneSettings settings;
  settings.inputs = (folder->path() / "x.npy").string();
  settings.test_labels = (folder->path() / "y.npy").string();
  ASSERT_TRUE(write_npy(settings.inputs, Tensor({DType::kF32, {2, 3}})).ok());
  ASSERT_TRUE(write_npy(settings.test_labels, Tensor({DType::kI64, {4}})).ok());
  const auto data = read_data(settings);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->inputs.shape(), Shape({2, 3}));
  EXPECT_EQ(data->test_labels.shape(), Shape({4}));
  EXPECT_FALSE(data->labels.defined() || data->test_inputs.defined());
  settings.labels = (folder->path() / "none.npy").string();
  EXPECT_FALSE(read_data(settings).ok());
}

}  // namespace
}  // namespace shoal::shrink
