#include "apps/cluster_commands/races.h"

#include <gtest/gtest.h>

#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"

namespace shoal::cluster {
namespace {

// The cells of a row.
std::string text_of(const Facts& row) {
  std::string text;
  for (const Fact& fact : row) {
    if (!fact.column.empty()) text += (text.empty() ? "" : "|") + fact.cell;
  }
  return text;
}

LatencyRecorder times(double ms, int count) {
  LatencyRecorder recorder;
  for (int i = 0; i < count; ++i) recorder.add(ms);
  return recorder;
}

TEST(RaceFacts, CompareStragglersWithWaiting) {
  const StragglerResult result{times(10, 3), times(40, 3)};
  Json json = to_json(result, {});
  EXPECT_EQ(json["requests"].dump(), "3");
  EXPECT_EQ(json["mean_saved"].dump(), "0.75");
  const auto rows = rows_of(result, {"coded", "plain"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(text_of(rows[0]).find("the first that are enough|coded|3|10.0|"), 0u);
  EXPECT_EQ(text_of(rows[1]).find("all, one worker fewer|plain|3|40.0|"), 0u);
}

TEST(RaceFacts, SayWhatChecksCostAndWhoWasWrong) {
  VerifyRaceResult result;
  result.plain = times(10, 2);
  result.verified = times(11, 2);
  result.checks.checked = 2;
  result.checks.disputed = 1;
  result.accused = {{"attic", 1}};
  EXPECT_NEAR(std::stod(to_json(result, 5)["verify_cost"].dump()), 0.1, 1e-9);
  EXPECT_EQ(to_json(result, 5)["requests"].dump(), "4");
  EXPECT_EQ(text_of(rows_of(result, 5).at(1)).find("one of 5 checked|2|11.00|"), 0u);
  EXPECT_EQ(lines_of(result, 5),
            (std::vector<std::string>{
                "to verify costs 10.0 %; 2 requests were checked, 1 of them disputed",
                "worker attic was wrong in 1 of them"}));
}

TEST(RaceFacts, SayHowMuchOfALinkWeightsTake) {
  DeploymentFigures figures;
  figures.needed = 100'000'000;
  figures.sent = 101'000'000;
  figures.asked = 9'000'000;
  figures.seconds = 2;
  Json json = to_json(figures, 110e6);
  EXPECT_EQ(json["link_use"].dump(), "0.5");
  EXPECT_NEAR(std::stod(json["sent_again"].dump()), 0.01, 1e-9);
  EXPECT_EQ(lines_of(figures, 110e6).at(0), "100 MB in 2.0 s, 50 % of the link; 1.00 % sent twice");
  EXPECT_EQ(rows_of(figures, 110e6).size(), 2u);
}

TEST(RaceFacts, NameTheMovesOfAStream) {
  const std::vector<BalanceStep> steps = {{"", 0.2}, {"layer 3 to hall", 0.1}};
  Json json = to_json(steps);
  EXPECT_EQ(json["moves"].dump(), "1");
  EXPECT_EQ(json["speedup"].dump(), "2.0");
  EXPECT_EQ(json["steps"][0]["move"].dump(), "\"layers dealt out evenly\"");
  EXPECT_EQ(text_of(rows_of(steps).at(1)), "layer 3 to hall|100.0");
}

}  // namespace
}  // namespace shoal::cluster

namespace shoal::emulate {
namespace {

TEST(Figures, StandBesidePredictions) {
  const Graph graph = *zoo::build("lenet5");
  const plan::ClusterProfile cluster =
      plan::uniform_cluster(2, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  plan::Comparison made = *plan::compare_plans(graph, cluster, {});
  PlanFigures figures{.single = made.single.timeline, .many = made.best().timeline, .rounds = 3};
  figures.many.seconds = figures.single.seconds / 4;
  const Json plan = {{"model", "m"}, {"workers", Json::array({Json::object(), Json::object()})}};
  Json json = with_figures(plan, made, figures);
  EXPECT_EQ(json["speedup"].dump(), "4.0");
  EXPECT_EQ(json["model"].dump(), "\"m\"");
  EXPECT_EQ(json["rounds"].dump(), "3");
  EXPECT_EQ(json["workers"][1]["compute_ms"].dump(),
            Json(1e3 * figures.many.compute_seconds[1]).dump());
  EXPECT_EQ(json["advice"].dump(), Json(conclusion_of(made, figures)).dump());
  EXPECT_EQ(segment_rows(made, figures).size(), made.best().plan().segments.size());
  EXPECT_EQ(worker_rows(made, figures).at(1)[0].cell, "pi4-1");
  EXPECT_EQ(rows_of(made, figures).at(2)[2].cell, "4.00");
  made.single_fits = false;
  EXPECT_EQ(rows_of(made, figures).at(0)[2].cell, "no memory");

  const plan::StreamComparison stream = *plan::compare_streams(graph, cluster, {});
  const StreamFigures periods{.single = 0.2, .stream = 0.1};
  EXPECT_EQ(with_figures(Json::object(), stream, periods)["cluster_ms"].dump(), "100.0");
  EXPECT_EQ(rows_of(stream, periods).at(0)[2].cell, "200.0");
  EXPECT_NE(conclusion_of(stream, periods), "");
}

}  // namespace
}  // namespace shoal::emulate
