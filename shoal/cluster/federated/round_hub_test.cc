// The hub and its clients between messages, without threads and sockets, in virtual time.
#include "shoal/cluster/federated/round_hub.h"

#include <gtest/gtest.h>

#include "shoal/cluster/federated/client_session.h"
#include "shoal/cluster/federated/federated_rounds_testing.h"
#include "shoal/train/run/setup/derived_options.h"

namespace shoal::federated_cluster {
namespace {

using namespace std::chrono_literals;
using fit::testing::same;
using testing::largest_difference;
using testing::shards_of;
using testing::simulate;
using testing::Simulated;
using testing::small_network;
using testing::small_options;
using Time = RoundHub::Time;

// A hub and clients. A letter arrives at once; a step of client i takes as long as it is set to.
class World {
 public:
  World(const HubOptions& options, const std::vector<std::shared_ptr<const Dataset>>& shards,
        const std::vector<ClientOptions>& clients = {})
      : options_(options) {
    const federated::Options& rounds = options_.rounds;
    const auto learning = *small_network(static_cast<int64_t>(rounds.fit.batch));
    const cluster::TrainingSetup setup{.network = learning.graph,
                                       .trainer = fit::trainer_options(rounds.fit)};
    const auto first = federated::LocalTrainer::create(*device_, setup.network, setup.trainer);
    course_.emplace(*federated::Course::create(*device_, small_network, nullptr, rounds,
                                               {first->weights(), first->parameters()}));
    hub_.emplace(options_, *course_, now_);
    for (size_t i = 0; i < shards.size(); ++i) {
      const ClientOptions how = i < clients.size() ? clients[i] : ClientOptions{};
      clients_.push_back({.session = *ClientSession::create(*device_, setup, shards[i], how)});
      hub_->expect(static_cast<int>(i));
    }
    for (size_t i = 0; i < shards.size(); ++i) hub_->join(static_cast<int>(i), now_);
    carry_out();
  }

  RoundHub& hub() { return *hub_; }
  const federated::Course& course() const { return *course_; }
  std::vector<Status>& failures() { return failures_; }
  void set_step(size_t client, std::chrono::nanoseconds time) { clients_[client].step = time; }
  // Is heard no more, and the hub knows, or it does not.
  void silence(size_t client) { clients_[client].is_silent = true; }
  void lose(size_t client) {
    clients_[client].session.reset();
    hub_->lose(static_cast<int>(client), now_);
    carry_out();
  }
  Time now() const { return now_; }

  // The next thing that happens: a step of a client is done, or the hub's time has come.
  void step() {
    Client* next = nullptr;
    for (Client& client : clients_) {
      const bool works = client.session && client.session->has_work();
      if (works && (next == nullptr || client.free < next->free)) next = &client;
    }
    if (next == nullptr || next->free > hub_->next_tick()) {
      now_ = std::max(now_, hub_->next_tick());
      hub_->tick(now_);
    } else {
      now_ = std::max(now_, next->free);
      note(*next, next->session->work());
      next->free = now_ + next->step;
    }
    carry_out();
  }
  void run(int64_t rounds = 1'000'000) {
    for (int i = 0; i < 1'000'000 && !hub_->is_over() && course_->rounds() < rounds; ++i) step();
  }

 private:
  struct Client {
    std::unique_ptr<ClientSession> session;
    std::chrono::nanoseconds step = 1ms;
    Time free = {};  // when its step is done
    bool is_silent = false;
  };

  void note(Client& client, const Status& status) {
    if (status.ok()) return;
    failures_.push_back(status);
    client.session.reset();
    const auto number = static_cast<int>(&client - clients_.data());
    hub_->lose(number, now_);
  }

  void carry_out() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const RoundHub::Letter& letter : hub_->take_letters()) {
        Client& client = clients_[static_cast<size_t>(letter.worker)];
        if (!client.session) continue;
        const bool worked = client.session->has_work();
        note(client, client.session->take_message(*letter.message));
        if (client.session && client.session->has_work() && !worked) {
          client.free = now_ + client.step;
        }
        changed = true;
      }
      for (size_t i = 0; i < clients_.size(); ++i) {
        if (!clients_[i].session) continue;
        for (const auto& message : clients_[i].session->take_messages()) {
          if (!clients_[i].is_silent) hub_->handle(static_cast<int>(i), message, now_);
          changed = true;
        }
      }
    }
  }

  const HubOptions options_;
  std::unique_ptr<Device> device_ = make_reference_device();
  std::optional<federated::Course> course_;
  std::optional<RoundHub> hub_;
  std::vector<Client> clients_;
  std::vector<Status> failures_;
  Time now_ = {};
};

class Rounds : public ::testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_reference_device();
};

// Clients that keep their data learn what simulated ones learn, bit by bit, by every strategy, and
// with a sample in each round.
TEST_F(Rounds, LearnWhatTheSimulationLearns) {
  for (const std::string& strategy : federated::strategy_names()) {
    for (const size_t per_round : {3u, 2u}) {
      const federated::Options how = small_options(strategy, 3, per_round);
      const Simulated simulated = simulate(*device_, how);
      World world({.rounds = how}, simulated.shards);
      world.run();
      EXPECT_TRUE(world.hub().status().ok());
      EXPECT_TRUE(same(world.course().weights(), simulated.weights)) << strategy << per_round;
      const federated::Figures& figures = world.course().figures();
      EXPECT_EQ(figures.reported, simulated.figures.reported);
      EXPECT_EQ(figures.loss, simulated.figures.loss);
    }
  }
}

// The deadline holds: a round ends then without a slow client, whose work counts for nothing, and
// the next one asks it again.
TEST_F(Rounds, EndAtTheirDeadline) {
  federated::Options how = small_options("fedavg", 4, 4);
  how.population.deadline = 10;
  const auto shards = shards_of(*device_, how);
  World world({.rounds = how}, shards);
  world.set_step(1, 11s);
  world.silence(2);
  world.run();
  const federated::Figures& figures = world.course().figures();
  EXPECT_EQ(figures.rounds, how.rounds);
  for (const federated::RoundReport& round : figures.history) {
    EXPECT_EQ(round.invited, 4u);
    EXPECT_EQ(round.reported, 2u);
    EXPECT_EQ(round.stragglers, 2u);
    EXPECT_EQ(round.seconds, 10);
  }
  EXPECT_EQ(world.now() - Time{}, 30s);
}

// FedProx takes what a slow client has when it is asked, before the deadline.
TEST_F(Rounds, TakePartialWork) {
  federated::Options how = small_options("fedprox", 3, 3);
  how.population.deadline = 10;
  const Simulated simulated = simulate(*device_, how);
  World world({.rounds = how}, simulated.shards);
  world.set_step(1, 2s);
  world.run();
  for (const federated::RoundReport& round : world.course().figures().history) {
    EXPECT_EQ(round.reported, 3u);
    EXPECT_EQ(round.stragglers, 1u);
    EXPECT_EQ(round.seconds, 9);
  }
  EXPECT_FALSE(same(world.course().weights(), simulated.weights));
}

// A round without enough reports changes nothing, and without enough clients the run ends in time.
TEST_F(Rounds, NeedEnoughClients) {
  federated::Options how = small_options("fedavg", 3, 3);
  how.population.deadline = 10;
  const auto shards = shards_of(*device_, how);
  World world({.rounds = how, .least = 3}, shards);
  const federated::Weights before = world.course().weights();
  world.silence(0);
  world.run();
  EXPECT_EQ(world.course().figures().rounds, 3);
  EXPECT_EQ(world.course().figures().reported, 0u);
  EXPECT_TRUE(same(world.course().weights(), before));
  World alone({.rounds = how, .least = 3}, shards);
  alone.lose(0);
  alone.run();
  EXPECT_EQ(alone.hub().status().code(), Code::kUnavailable);
  EXPECT_LE(alone.now() - Time{}, 70s);
}

// A client that leaves in the middle of a round, and one that comes later.
TEST_F(Rounds, GoOnWithoutAClientThatLeaves) {
  federated::Options how = small_options("fedavg", 3, 3);
  const auto shards = shards_of(*device_, how);
  World world({.rounds = how}, shards);
  world.step();
  world.lose(1);
  world.run();
  const federated::Figures& figures = world.course().figures();
  EXPECT_EQ(figures.rounds, 3);
  EXPECT_EQ(figures.left, 1u);
  EXPECT_EQ(figures.reported, 6u);
  EXPECT_LT(figures.seconds, 10) << "nothing waits for a deadline";
}

// Secret sums give the hub the same weights, up to rounding.
TEST_F(Rounds, SecretSumsGiveTheSameWeights) {
  for (const char* strategy : {"fedavg", "fedprox"}) {
    const federated::Options how = small_options(strategy, 5, 4);
    const Simulated simulated = simulate(*device_, how);
    World world({.rounds = how, .secret = true, .range = 4}, simulated.shards,
                std::vector<ClientOptions>(5, {.secret_only = true}));
    world.run();
    EXPECT_TRUE(world.hub().status().ok());
    EXPECT_TRUE(world.failures().empty());
    const federated::Figures& figures = world.course().figures();
    EXPECT_EQ(figures.reported, 12u);
    EXPECT_EQ(figures.clamped, 0u);
    EXPECT_NEAR(figures.loss, simulated.figures.loss, 2e-3);
    EXPECT_LT(largest_difference(world.course().weights(), simulated.weights), 3e-6) << strategy;
    EXPECT_GT(figures.secret.bytes, figures.secret.plain_bytes);
  }
}

// Masks of a client that drops out while it learns are taken away by the shares of the others: the
// sum is that of an open round without it.
TEST_F(Rounds, SecretSumsSurviveADropOut) {
  for (const bool knows : {true, false}) {
    federated::Options how = small_options("fedavg", 4, 4);
    how.rounds = 1;
    how.population.deadline = 10;
    const auto shards = shards_of(*device_, how);
    const HubOptions open{.rounds = how}, secret{.rounds = how, .secret = true, .range = 4};
    federated::Weights learned[2];
    for (const HubOptions* options : {&open, &secret}) {
      World world(*options, shards);
      world.step();  // a step of one client: keys and shares are exchanged
      if (knows) {
        world.lose(2);
      } else {
        world.silence(2);
      }
      world.run();
      EXPECT_EQ(world.course().figures().reported, 3u);
      EXPECT_LE(world.now() - Time{}, 10s);
      learned[options == &secret ? 1 : 0] = world.course().weights();
    }
    EXPECT_LT(largest_difference(learned[0], learned[1]), 1e-6);
  }
}

// Too many drop out: no sum, no change, and the next round begins.
TEST_F(Rounds, SecretRoundsOfTooFewChangeNothing) {
  federated::Options how = small_options("fedavg", 4, 4);
  how.population.deadline = 10;
  const auto shards = shards_of(*device_, how);
  World world({.rounds = how, .secret = true, .range = 4}, shards);
  const federated::Weights before = world.course().weights();
  world.step();
  world.silence(1);
  world.silence(2);
  world.run();
  EXPECT_EQ(world.course().figures().rounds, 3);
  EXPECT_EQ(world.course().figures().reported, 0u);
  EXPECT_TRUE(same(world.course().weights(), before));
}

// A client that allows secret sums only refuses an open round; the others go on.
TEST_F(Rounds, OwnersMayAllowSecretSumsOnly) {
  const federated::Options how = small_options("fedavg", 3, 3);
  const auto shards = shards_of(*device_, how);
  World world({.rounds = how}, shards, {{.secret_only = true}});
  world.run();
  ASSERT_EQ(world.failures().size(), 1u);
  EXPECT_EQ(world.failures()[0].code(), Code::kUnsupported);
  EXPECT_EQ(world.course().figures().reported, 6u);
}

// What no client says costs it its place, and no round.
TEST_F(Rounds, DropClientsThatLie) {
  const federated::Options how = small_options("fedavg", 3, 3);
  const auto shards = shards_of(*device_, how);
  const std::vector<std::byte> nonsense(20, std::byte{0xff});
  const UpdateMessage too_many{.examples = 1 << 20, .steps = 1, .weights = {}};
  const UpdateMessage other{.examples = 1, .steps = 1, .weights = {}};
  for (const auto& bytes : {nonsense, encode(ToServer(too_many)), encode(ToServer(SecretReply{})),
                            encode(ToServer(JoinedMessage{2}))}) {
    World world({.rounds = how}, shards);
    world.hub().handle(1, bytes, world.now());
    EXPECT_EQ(world.hub().take_dropped(), std::vector<int>{1});
    world.run();
    EXPECT_EQ(world.course().figures().reported, 6u);
  }
  // Weights of another network are left out.
  World world({.rounds = how}, shards);
  world.hub().handle(1, encode(ToServer(other)), world.now());
  world.run();
  EXPECT_EQ(world.course().figures().failed, 1u);
  EXPECT_EQ(world.course().figures().reported, 8u);
}

TEST_F(Rounds, RefuseOptionsWithoutAMeaning) {
  HubOptions options{.rounds = small_options("fedavg", 3, 3)};
  EXPECT_TRUE(check(options).ok());
  options.least = 4;
  EXPECT_EQ(check(options).code(), Code::kInvalidArgument);
  options = {.rounds = small_options("median", 3, 3), .secret = true};
  EXPECT_EQ(check(options).code(), Code::kUnsupported);
  options = {.rounds = small_options("fedavg", 3, 3)};
  options.rounds.codec = learn::CodecKind::kInt8;
  EXPECT_EQ(check(options).code(), Code::kUnsupported);
  options.rounds.codec = learn::CodecKind::kF32;
  options.rounds.population.deadline = std::numeric_limits<double>::infinity();
  EXPECT_EQ(check(options).code(), Code::kInvalidArgument);
}

TEST(HubOptions, HaveADeadlineInAnyCase) {
  federated::ScenarioSettings settings;
  settings.least = 3;
  settings.secure_sum = true;
  settings.secure_range = 0.5;
  const auto none = [](const std::string&) { return false; };
  const HubOptions usual = hub_options(settings, resolve(settings, {}, none));
  EXPECT_EQ(usual.rounds.population.deadline, 600);
  EXPECT_EQ(usual.rounds.fit.batch, 10u) << "the rounds are those of the settings";
  EXPECT_EQ(usual.least, 3u);
  EXPECT_TRUE(usual.secret);
  EXPECT_EQ(usual.range, 0.5);
  settings.deadline = 7;
  const HubOptions given = hub_options(settings, resolve(settings, {}, none));
  EXPECT_EQ(given.rounds.population.deadline, 7);
}

}  // namespace
}  // namespace shoal::federated_cluster
