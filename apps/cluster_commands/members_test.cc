#include "apps/cluster_commands/members.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"
#include "shoal/cluster/emulate/workers/worker_service.h"
#include "shoal/cluster/members/discovered.h"

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

}  // namespace
}  // namespace shoal::cluster

namespace shoal::emulate {
namespace {

TEST(WorkerServiceOptions, AreDescribed) {
  WorkerServiceOptions options;
  expect_described(settings_of(options));
}

}  // namespace
}  // namespace shoal::emulate

namespace shoal::net {
namespace {

TEST(TokenSource, IsDescribed) {
  TokenSource source;
  expect_described(settings_of(source));
}

}  // namespace
}  // namespace shoal::net
