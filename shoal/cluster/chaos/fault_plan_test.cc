#include "shoal/cluster/chaos/fault_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "shoal/plan/plan.h"

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;
using Kind = FaultAction::Kind;

constexpr FaultCounts kOneOfEach{1, 1, 1, 1, 1, 1, 1};

std::vector<FaultEvent> draw(const FaultPlanOptions& options, int count) {
  FaultPlan plan(options);
  std::vector<FaultEvent> events;
  for (int i = 0; i < count; ++i) events.push_back(plan.next());
  return events;
}

std::vector<std::string> described(const FaultPlanOptions& options, int count) {
  std::vector<std::string> texts;
  for (const FaultEvent& event : draw(options, count)) {
    texts.push_back(describe(event, {"a", "b", "c"}) + " " + std::to_string(event.moment));
  }
  return texts;
}

TEST(FaultPlan, FollowsFromItsSeed) {
  const FaultPlanOptions options{.counts = kOneOfEach, .endless = true, .workers = 3, .seed = 5};
  FaultPlanOptions other = options;
  other.seed = 6;
  EXPECT_EQ(described(options, 50), described(options, 50));
  EXPECT_NE(described(options, 50), described(other, 50));
}

TEST(FaultPlan, DrawsAsManyOfEachKindAsAreAskedFor) {
  const auto events =
      draw({.counts = {.kills = 3, .partitions = 20, .drops = 2}, .workers = 3}, 25);
  std::map<Fault, int> count;
  for (const FaultEvent& event : events) ++count[event.fault];
  EXPECT_EQ(count[Fault::kKill], 3);
  EXPECT_EQ(count[Fault::kDrop], 2);
  EXPECT_EQ(count.size(), 6u) << "kills, drops and all four kinds of partitions";
}

TEST(FaultPlan, WithoutEndKeepsProportions) {
  const auto events =
      draw({.counts = {.kills = 1, .slows = 3}, .endless = true, .workers = 2}, 4000);
  const auto kills = std::ranges::count(events, Fault::kKill, &FaultEvent::fault);
  EXPECT_NEAR(static_cast<double>(kills), 1000, 150);
  EXPECT_EQ(std::ranges::count(events, Fault::kSlow, &FaultEvent::fault), 4000 - kills);
}

TEST(FaultPlan, HitsEveryWorkerPeerAndPoint) {
  const auto events = draw({.counts = kOneOfEach, .endless = true, .workers = 3}, 2000);
  std::set<int> workers, peers;
  std::set<cluster::FaultPoint> points;
  int at_moments = 0;
  for (const FaultEvent& event : events) {
    workers.insert(event.worker);
    peers.insert(event.peer);
    EXPECT_NE(event.peer, event.worker);
    EXPECT_TRUE(event.fault != Fault::kDrop || event.peer != FaultEvent::kAllPeers);
    if (event.at) points.insert(*event.at);
    at_moments += event.at ? 0 : 1;
    EXPECT_TRUE(event.moment >= 0 && event.moment < 1);
    EXPECT_TRUE(event.duration >= 1ms && event.duration <= 1500ms);
    EXPECT_TRUE(event.delay >= 1ms && event.delay <= 100ms);
  }
  EXPECT_EQ(workers, (std::set{0, 1, 2}));
  EXPECT_EQ(peers, (std::set{FaultEvent::kAllPeers, plan::kCoordinator, 0, 1, 2}));
  EXPECT_EQ(points.size(), static_cast<size_t>(cluster::kFaultPoints));
  EXPECT_NEAR(at_moments, 1000, 150);
}

TEST(FaultPlan, HappensWhereItIsAskedTo) {
  FaultPlanOptions options{.counts = kOneOfEach, .endless = true, .workers = 3};
  options.where = "computing";
  for (const FaultEvent& event : draw(options, 50)) {
    EXPECT_EQ(event.at, cluster::FaultPoint::kComputing);
  }
  options.where = kAnyMoment;
  for (const FaultEvent& event : draw(options, 50)) EXPECT_FALSE(event.at);
}

// What is drawn first is the same with other options.
TEST(FaultPlan, TakesDurationsThatAreGiven) {
  const FaultPlanOptions drawn{.counts = kOneOfEach, .endless = true, .workers = 3};
  FaultPlanOptions fixed = drawn;
  fixed.down = 7ms;
  fixed.pause = 800ms;
  const auto before = draw(drawn, 200), after = draw(fixed, 200);
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(after[i].fault, before[i].fault);
    switch (after[i].fault) {
      case Fault::kKill:
        EXPECT_EQ(after[i].duration, 7ms);
        break;
      case Fault::kStop:
      case Fault::kSlow:
        EXPECT_EQ(after[i].duration, 800ms);
        break;
      default:
        EXPECT_EQ(after[i].duration, before[i].duration);
    }
  }
}

FaultEvent event_of(Fault fault, int peer = FaultEvent::kAllPeers) {
  return {.fault = fault, .worker = 1, .at = {}, .peer = peer, .duration = 700ms, .delay = 20ms};
}

TEST(FaultActions, OfAMachineBeginAndEnd) {
  using Pair = std::pair<Kind, Kind>;
  const std::map<Fault, Pair> kinds = {{Fault::kKill, {Kind::kKill, Kind::kRestart}},
                                       {Fault::kStop, {Kind::kStop, Kind::kContinue}},
                                       {Fault::kSlow, {Kind::kSlowDown, Kind::kSpeedUp}}};
  for (const auto& [fault, pair] : kinds) {
    const std::vector<FaultAction> expected = {{0ms, pair.first, 1}, {700ms, pair.second, 1}};
    EXPECT_EQ(actions_of(event_of(fault), 3), expected) << name_of(fault);
  }
}

TEST(FaultActions, OfPartitionsBlockTheWaysThatFail) {
  const std::vector<FaultAction> deaf = {{0ms, Kind::kBlock, 2, 1}, {700ms, Kind::kUnblock, 2, 1}};
  EXPECT_EQ(actions_of(event_of(Fault::kDeaf, 2), 3), deaf);
  const std::vector<FaultAction> mute = {{0ms, Kind::kBlock, 1, 2}, {700ms, Kind::kUnblock, 1, 2}};
  EXPECT_EQ(actions_of(event_of(Fault::kMute, 2), 3), mute);
  const auto all = actions_of(event_of(Fault::kPartition), 3);
  EXPECT_EQ(all.size(), 2u * 2 * 3) << "block and unblock, both ways, coordinator and two workers";
}

// Whatever fails is mended at the end, in order of time.
TEST(FaultActions, LeaveNothingBroken) {
  FaultPlan plan({.counts = kOneOfEach, .endless = true, .workers = 4});
  for (int i = 0; i < 500; ++i) {
    const FaultEvent event = plan.next();
    std::set<std::pair<int, int>> blocked, delayed;
    int down = 0;
    auto now = 0ms;
    for (const FaultAction& action : actions_of(event, 4)) {
      EXPECT_GE(action.after, now);
      now = action.after;
      const std::pair way(action.machine, action.peer);
      switch (action.kind) {
        case Kind::kKill:
        case Kind::kStop:
        case Kind::kSlowDown:
          ++down;
          break;
        case Kind::kRestart:
        case Kind::kContinue:
        case Kind::kSpeedUp:
          --down;
          break;
        case Kind::kBlock:
          EXPECT_TRUE(blocked.insert(way).second);
          break;
        case Kind::kUnblock:
          EXPECT_EQ(blocked.erase(way), 1u);
          break;
        case Kind::kDelay:
          action.delay > 0ms ? void(delayed.insert(way)) : void(delayed.erase(way));
          break;
        case Kind::kDisconnect:
        case Kind::kDamage:
          break;
      }
    }
    EXPECT_TRUE(down == 0 && blocked.empty() && delayed.empty())
        << describe(event, {"a", "b", "c", "d"});
  }
}

TEST(FaultActions, OfFlappingAreTooShortToBeMissed) {
  const auto actions = actions_of(event_of(Fault::kFlapping, plan::kCoordinator), 3);
  ASSERT_EQ(actions.size(), 24u) << "six times on and off, both ways";
  for (size_t i = 2; i < actions.size(); i += 2) {
    EXPECT_EQ(actions[i].after - actions[i - 2].after, 150ms);
  }
}

TEST(FaultActions, OfDamageGoOneWay) {
  FaultEvent event = event_of(Fault::kCorrupt, 2);
  EXPECT_EQ(actions_of(event, 3), (std::vector<FaultAction>{{0ms, Kind::kDamage, 1, 2}}));
  event.inbound = true;
  EXPECT_EQ(actions_of(event, 3), (std::vector<FaultAction>{{0ms, Kind::kDamage, 2, 1}}));
}

TEST(FaultEvent, IsDescribedInWords) {
  FaultEvent event = event_of(Fault::kPartition);
  event.at = cluster::FaultPoint::kComputing;
  EXPECT_EQ(describe(event, {"a", "b"}), "b cut off from all others, 700 ms, at computing");
  EXPECT_EQ(describe(event_of(Fault::kDelay), {"a", "b"}), "b delayed by 20 ms, 700 ms");
  EXPECT_EQ(describe(event_of(Fault::kDrop, plan::kCoordinator), {"a", "b"}),
            "b disconnected from the coordinator");
  EXPECT_EQ(describe(event_of(Fault::kCorrupt, 0), {"a", "b"}), "b damaged: bytes to a");
}

TEST(FaultCounts, AreUsuallyKillsOrAllKindsAlike) {
  EXPECT_EQ(FaultCounts::usual(false).kills, 10u);
  EXPECT_EQ(FaultCounts::usual(false).sum(), 10u);
  EXPECT_EQ(FaultCounts::usual(true).kills, 1u);
  EXPECT_EQ(FaultCounts::usual(true).sum(), 7u);
}

}  // namespace
}  // namespace shoal::chaos
