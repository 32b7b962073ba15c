// Servers, their clocks, a network and a store in virtual time, with faults by a seed.
#include "shoal/serve/leader/election.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace shoal::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kTtl = milliseconds(1500);
constexpr nanoseconds kUsualDelay = milliseconds(5);  // of a message, at most, without faults
constexpr double kDrift = 0.04;                       // of a clock, either way

class World {
 public:
  explicit World(uint64_t seed) : rng_(seed) {
    for (Server& server : servers_) {
      server.rate = 1 + kDrift * (2 * share() - 1);
      server.offset = between(nanoseconds(0), seconds(1'000'000));
      start(server);
    }
  }

  // Runs all that happens until then, and looks for two leaders whenever one is made.
  void run_until(nanoseconds end) {
    while (!events_.empty() && events_.begin()->first.first <= end) {
      auto event = events_.extract(events_.begin());
      now_ = event.key().first;
      event.mapped()();
    }
    now_ = end;
  }

  void have_faults_until(nanoseconds end) {
    if (now_ >= end) return;
    one_fault();
    at(now_ + between(nanoseconds(0), seconds(3)), [this, end] { have_faults_until(end); });
  }

  // All is well from now on.
  void heal() {
    store_down_until_ = now_;
    loss_ = 0;
    for (Server& server : servers_) {
      server.unreachable_until = now_;
      server.paused_until = std::min(server.paused_until, now_);
      if (!server.election) start(server);
    }
  }

  // nullopt: none leads.
  std::optional<size_t> leader() const {
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (leads(servers_[i])) return i;
    }
    return std::nullopt;
  }
  size_t leaders() const {
    return static_cast<size_t>(
        std::count_if(servers_.begin(), servers_.end(), [this](auto& one) { return leads(one); }));
  }
  void kill(size_t server) {
    servers_[server].election.reset();
    ++servers_[server].life;
  }
  // A server that gives the record up, and stands for election no more.
  void resign(size_t number) {
    Server& server = servers_[number];
    server.election->resign();
    server.is_resigned = true;
    if (!server.waits) step(server, server.life);
  }

  nanoseconds now() const { return now_; }
  bool had_two_leaders() const { return had_two_leaders_; }
  size_t swaps() const { return swaps_; }
  nanoseconds between(nanoseconds low, nanoseconds high) {
    return low +
           nanoseconds(static_cast<int64_t>(share() * static_cast<double>((high - low).count())));
  }

 private:
  struct Server {
    std::optional<Election> election;  // nothing: it is dead
    uint64_t life = 0;                 // events of earlier lives do nothing
    uint64_t request = 0;              // events of earlier requests do nothing
    bool waits = false;                // for the store's answer
    bool is_resigned = false;
    double rate = 1;
    nanoseconds offset{};
    nanoseconds paused_until{}, unreachable_until{};
  };

  double share() { return std::uniform_real_distribution<double>(0, 1)(rng_); }
  void at(nanoseconds time, std::function<void()> what) {
    events_.emplace(std::pair(std::max(time, now_), ++last_event_), std::move(what));
  }
  Moment clock_of(const Server& server) const {
    return Moment(server.offset + nanoseconds(static_cast<int64_t>(
                                      server.rate * static_cast<double>(now_.count()))));
  }
  // A server that is paused would look at its clock before it answers.
  bool leads(const Server& server) const {
    return server.election && server.election->leads_until() > clock_of(server);
  }

  void start(Server& server) {
    const auto number = static_cast<size_t>(&server - servers_.data());
    ++server.life;
    server.waits = false;
    server.is_resigned = false;
    server.election.emplace(
        ElectionOptions{std::to_string(number) + "/" + std::to_string(server.life), kTtl});
    at(now_, [this, &server, life = server.life] { step(server, life); });
  }

  // Does it when the server is not paused, if it still lives then.
  void when_awake(Server& server, uint64_t life, std::function<void()> what) {
    if (server.life != life || !server.election) return;
    if (server.paused_until <= now_) return what();
    at(server.paused_until, [this, &server, life, what] { when_awake(server, life, what); });
  }

  void step(Server& server, uint64_t life) {
    when_awake(server, life, [this, &server] {
      if (server.waits) return;
      const auto request = server.election->next(clock_of(server));
      if (request) return send(server, *request);
      if (!server.is_resigned) wake_later(server);
    });
  }

  void wake_later(Server& server) {
    const auto wait = std::max(server.election->wake() - clock_of(server), nanoseconds(0));
    const auto real = static_cast<double>(wait.count()) / server.rate;
    at(now_ + nanoseconds(static_cast<int64_t>(real) + 1),
       [this, &server, life = server.life] { step(server, life); });
  }

  // Most messages are fast, some slow, and a few arrive too late.
  nanoseconds delay() {
    if (loss_ == 0) return between(nanoseconds(1), kUsualDelay);
    const double kind = share();
    return between(nanoseconds(1), kind < 0.7    ? kUsualDelay
                                   : kind < 0.95 ? nanoseconds(milliseconds(400))
                                                 : nanoseconds(seconds(4)));
  }
  bool is_lost(const Server& server) { return server.unreachable_until > now_ || share() < loss_; }

  void send(Server& server, const StoreRequest& request) {
    server.waits = true;
    const uint64_t life = server.life, number = ++server.request;
    at(now_ + Election::answer_timeout(kTtl),
       [this, &server, life, number] { answer(server, life, number, std::nullopt); });
    if (is_lost(server)) return;
    at(now_ + delay(), [this, &server, life, number, request] {
      if (store_down_until_ > now_) return;
      const StoreAnswer done = carry_out(request);
      if (is_lost(server)) return;
      at(now_ + delay(),
         [this, &server, life, number, done] { answer(server, life, number, done); });
    });
  }

  StoreAnswer carry_out(const StoreRequest& request) {
    if (!request.holder || request.expected != record_.revision) return {false, record_};
    record_ = {*request.holder, ++revision_};
    ++swaps_;
    return {true, record_};
  }

  void answer(Server& server, uint64_t life, uint64_t number,
              const std::optional<StoreAnswer>& what) {
    when_awake(server, life, [this, &server, number, what] {
      if (!server.waits || server.request != number) return;
      server.waits = false;
      server.election->answered(what, clock_of(server));
      had_two_leaders_ |= leaders() > 1;
      if (server.is_resigned) return;
      wake_later(server);
    });
  }

  void one_fault() {
    Server& server = servers_[rng_() % servers_.size()];
    const nanoseconds end = now_ + between(nanoseconds(0), seconds(4));
    switch (rng_() % 7) {
      case 0:
        kill(static_cast<size_t>(&server - servers_.data()));
        at(end, [this, &server] {
          if (!server.election) start(server);
        });
        break;
      case 1:
        server.paused_until = end;
        break;
      case 2:
        server.unreachable_until = end;
        break;
      case 3:
        store_down_until_ = end;
        break;
      case 4:
        loss_ = 0.3 * share();
        break;
      case 5:
        loss_ = 0;
        break;
      default:
        record_ = {};  // the record is deleted
    }
  }

  std::mt19937_64 rng_;
  nanoseconds now_{};
  uint64_t last_event_ = 0;
  std::map<std::pair<nanoseconds, uint64_t>, std::function<void()>> events_;
  std::array<Server, 3> servers_;
  Record record_;
  int64_t revision_ = 0;
  nanoseconds store_down_until_{};
  double loss_ = 0;
  size_t swaps_ = 0;
  bool had_two_leaders_ = false;
};

// The last renewal is seen one period of reading late, T later it is swapped. Each takes two
// messages, and the dead leader's last one may have been on its way.
constexpr nanoseconds kTakeOver = nanoseconds(static_cast<int64_t>(kTtl.count() / (1 - kDrift))) +
                                  kTtl / 12 * 11 / 10 + 5 * kUsualDelay;

TEST(Election, HasOneLeaderAtMostWhateverFailsAndSoonOneWhenAllIsWell) {
  nanoseconds longest{0};
  size_t led = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    World world(seed);
    const nanoseconds calm = seconds(30);
    world.have_faults_until(calm);
    for (nanoseconds time{0}; time < calm; time += milliseconds(100)) {
      world.run_until(time);
      led += world.leaders();
    }
    world.run_until(calm);
    world.heal();
    // Whoever reads the record may have begun to wait just now, for a server that is dead, or for
    // answers to requests that are lost.
    world.run_until(calm + 2 * kTakeOver + Election::answer_timeout(kTtl));
    const auto leader = world.leader();
    ASSERT_TRUE(leader) << "seed " << seed;

    // It stays as long as nothing fails.
    const nanoseconds death = world.now() + world.between(nanoseconds(0), seconds(5));
    while (world.now() < death) {
      world.run_until(std::min(world.now() + milliseconds(20), death));
      ASSERT_EQ(world.leader(), leader) << "seed " << seed;
    }
    world.kill(*leader);
    while (!world.leader() && world.now() < death + kTakeOver) {
      world.run_until(world.now() + milliseconds(1));
    }
    ASSERT_TRUE(world.leader()) << "seed " << seed;
    longest = std::max(longest, world.now() - death);
    ASSERT_FALSE(world.had_two_leaders()) << "seed " << seed;
  }
  // Faults leave some time to lead, and deaths soon after a renewal take nearly all of the bound.
  EXPECT_GT(led, 300u * 300 / 4);
  EXPECT_GT(longest, kTtl);
}

// Whatever is lost or late, within the bounds that it relies on.
TEST(Election, CountsFromWhenItAskedAndFromWhenItWasTold) {
  const Moment begin(seconds(100));
  const auto late = milliseconds(300);
  Election reader({"me", kTtl});
  EXPECT_FALSE(reader.next(begin)->holder);
  reader.answered(StoreAnswer{false, {"other", 7}}, begin + late);
  EXPECT_FALSE(reader.next(begin + late + kTtl - nanoseconds(1))->holder);
  reader.answered(StoreAnswer{false, {"other", 7}}, begin + late + kTtl - nanoseconds(1));
  const Moment asked = begin + late + kTtl;
  const auto swap = reader.next(asked);
  ASSERT_TRUE(swap && swap->holder);
  EXPECT_EQ(*swap->holder, "me");
  EXPECT_EQ(swap->expected, 7);
  reader.answered(StoreAnswer{true, {"me", 8}}, asked + late);
  EXPECT_EQ(reader.leads_until(), asked + kTtl * 9 / 10);

  // A leader that learns of another one stops at once, whatever it took for granted.
  const Moment renewal = reader.wake();
  ASSERT_TRUE(reader.next(renewal)->holder);
  reader.answered(StoreAnswer{false, {"other", 9}}, renewal);
  EXPECT_LT(reader.leads_until(), renewal);
}

TEST(Election, IsHandedOverByALeaderThatResigns) {
  World world(1);
  world.run_until(seconds(5));
  const auto leader = world.leader();
  ASSERT_TRUE(leader);
  world.resign(*leader);
  EXPECT_EQ(world.leader(), std::nullopt);
  world.run_until(world.now() + kTtl / 4);
  ASSERT_TRUE(world.leader());
  EXPECT_NE(world.leader(), leader);
  EXPECT_FALSE(world.had_two_leaders());
}

// A write for each quarter of T, and no more: stores keep every one for a while.
TEST(Election, WritesOnlyToRenew) {
  World world(2);
  world.run_until(seconds(5));
  const size_t before = world.swaps();
  world.run_until(seconds(65));
  const double renewals = seconds(60) / (kTtl / 4);
  EXPECT_NEAR(static_cast<double>(world.swaps() - before), renewals, 2 + renewals * kDrift);
}

}  // namespace
}  // namespace shoal::serve
