// Members, workers and races for scripts and for people.
#include <gtest/gtest.h>

#include "shoal/cluster/benchmarks/race_facts.h"
#include "shoal/cluster/members/discovered.h"
#include "shoal/cluster/members/member_facts.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

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

TEST(MemberFacts, SayWhoIsGoodExpiredOrRemoved) {
  const net::Time now = net::Time() + 1000h;
  const std::vector<MemberState> members = {{"hall", net::Role::kWorker, now + 1h, false},
                                            {"attic", net::Role::kWorker, now, false},
                                            {"thief", net::Role::kClient, now + 1h, true}};
  const auto rows = rows_of(members, now);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(text_of(rows[0]), "hall|worker|1970-02-11T17:00:00Z|good");
  EXPECT_EQ(rows[1].back().cell, "expired");
  EXPECT_EQ(rows[2].back().cell, "removed");
  const std::vector<MemberVisit> visits = {
      {"hall", Status(), false, {"a thief\n"}},
      {"attic", Status(Code::kUnavailable, "attic: nobody answers"), false, {}}};
  EXPECT_EQ(refusals_in(visits), std::vector<std::string>{"refused by hall: a thief\\x0a"});
  EXPECT_EQ(absent_in(visits), std::vector<std::string>{"not reached: attic: nobody answers"});
  EXPECT_EQ(missed_renewals_in(visits), "1 of 2 workers were not renewed");
  EXPECT_TRUE(renewals_in(visits).empty());
  const std::vector<MemberVisit> renewed = {{"hall", Status(), true, {}}};
  EXPECT_EQ(missed_renewals_in(renewed), "");
  EXPECT_EQ(renewals_in(renewed), std::vector<std::string>{"renewed: hall"});
  Json json = to_json(members, visits);
  EXPECT_EQ(json["members"][2].dump(),
            R"({"expires":"1970-02-11T17:00:00Z","name":"thief","revoked":true,"role":"client"})");
  EXPECT_EQ(json["refused"].dump(), R"([{"by":"hall","why":"a thief\\x0a"}])");
}

TEST(WorkerFacts, SayWhatIsKnownOfThoseThatAnswer) {
  WorkerInspection seen;
  seen.state.processor = "a processor";
  seen.state.threads = 4;
  seen.state.plans = 2;
  seen.macs_per_second = 2.5e9;
  seen.link.latency_seconds = 0.001;
  seen.link.bytes_per_second = 1e6;
  const std::vector<ListedWorker> workers = {{"hall", "h:1"}, {"attic", "a:1"}};
  const std::vector<Result<WorkerInspection>> inspected = {
      seen, Status(Code::kUnavailable, "attic: nobody answers")};
  Json json = to_json(workers, inspected);
  EXPECT_EQ(json[0]["gmac_per_s"].dump(), "2.5");
  EXPECT_EQ(json[0]["health"].dump(), "\"ok\"");
  EXPECT_EQ(json[1].dump(), R"({"address":"a:1","health":"attic: nobody answers","name":"attic"})");
  const auto rows = rows_of(workers, inspected);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(text_of(rows[0]),
            "hall|h:1|a processor|4|" + in_bytes(0) + "|2.5|1.00|8.0|0.0|0.00|2|ok");
  EXPECT_EQ(text_of(rows[1]), "attic|a:1|-|-|-|-|-|-|-|-|-|gone");
  EXPECT_EQ(unanswered_in(inspected), "1 of 2 workers did not answer");
  EXPECT_EQ(unanswered_in(std::span(inspected).first(1)), "");
}

TEST(FoundWorkers, ComeBehindThoseThatAreListed) {
  EXPECT_EQ(with_found({{"hall", "h:1"}},
                       {{.name = "hall", .address = "h:1"}, {.name = "hall", .address = "h:2"}}),
            (std::vector<ListedWorker>{{"hall", "h:1"}, {"hall", "h:2"}}));
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
