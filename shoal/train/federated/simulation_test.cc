#include "shoal/train/federated/simulation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::federated {
namespace {

using fit::testing::make_network;
using fit::testing::Rows;
using fit::testing::same;

class Simulated : public ::testing::Test {
 protected:
  static Options options(std::string_view strategy) {
    Options options{.strategy = *find_strategy(strategy),
                    .population = {.clients = 30},
                    .shards = {.least = 12},
                    .rounds = 3,
                    .per_round = 5};
    options.fit.epochs = 3;
    options.fit.batch = 5;
    options.fit.optimizer = {.rate = 0.05f, .momentum = 0.9f};
    options.fit.schedule = train::Schedule::Kind::kConstant;
    return options;
  }
  std::unique_ptr<Simulation> create(const Options& options) {
    const auto network = [](int64_t batch) -> Result<LoadedGraph> {
      return LoadedGraph{make_network(batch), {"scores"}};
    };
    auto result = Simulation::create({*device_, *device_}, network, data_, options);
    SHOAL_CHECK(result.ok());
    return *std::move(result);
  }
  std::unique_ptr<Simulation> run(const Options& options) {
    auto simulation = create(options);
    while (!simulation->is_over()) EXPECT_TRUE(simulation->round().ok());
    return simulation;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  fit::TrainingData data_{std::make_shared<Rows>(600), std::make_shared<Rows>(40, 99)};
};

// One client that has all data is a training loop on it.
TEST_F(Simulated, OneClientLearnsAsATrainingLoopDoes) {
  Options how = options("fedavg");
  how.population.clients = how.per_round = 1;
  how.rounds = 1;
  how.shards.split = ShardOptions::Split::kIid;
  const auto simulation = run(how);
  fit::TrainingOptions alone = how.fit;
  alone.seed = client_seed(how.fit.seed, 0, 0);
  fit::TrainingTask task{
      .network = make_network(5),
      .data = {make_subset(data_.training, simulation->shards().of(0)), data_.held_out}};
  auto loop = fit::TrainingLoop::create(*device_, std::move(task), alone);
  ASSERT_TRUE(loop.ok());
  ASSERT_TRUE(loop->run().ok());
  EXPECT_TRUE(same(simulation->weights(), loop->weights()));
  EXPECT_EQ(simulation->figures().evaluation.correct(), loop->evaluation().correct());
}

TEST_F(Simulated, FedProxWithoutItsTermIsFedAvg) {
  Options prox = options("fedprox");
  prox.strategy.mu = 0;
  const Weights average = run(options("fedavg"))->weights();
  EXPECT_TRUE(same(run(prox)->weights(), average));
  prox.strategy.mu = 1;
  EXPECT_FALSE(same(run(prox)->weights(), average));
}

// Partial work is taken or left out; neither waits for who has left.
TEST_F(Simulated, StragglersAreLeftOutOrGiveWhatTheyHave) {
  Options how = options("fedavg");
  how.population.stragglers = 0.6;
  how.population.leaving = 0.2;
  how.rounds = 10;
  const Figures dropped = run(how)->figures();
  how.strategy = *find_strategy("fedprox");
  const Figures partial = run(how)->figures();
  EXPECT_EQ(dropped.stragglers, partial.stragglers);
  EXPECT_GT(dropped.stragglers, 10u);
  EXPECT_GT(dropped.left, 2u);
  EXPECT_EQ(dropped.reported + dropped.stragglers + dropped.left, dropped.invited);
  EXPECT_EQ(partial.reported + partial.left, partial.invited);
  const double network = 4.0 * (16 * 8 + 8 + 8 * 4 + 4);
  EXPECT_EQ(dropped.bytes, network * static_cast<double>(dropped.invited + dropped.reported));
}

TEST_F(Simulated, SameSeedGivesTheSameBytesOnAnyThreads) {
  for (const std::string& strategy : strategy_names()) {
    Options how = options(strategy);
    how.population.stragglers = 0.3;
    const Weights alone = run(how)->weights();
    how.threads = 8;  // more than a round has clients
    EXPECT_TRUE(same(run(how)->weights(), alone)) << strategy;
    how.population.seed = 2;
    EXPECT_FALSE(same(run(how)->weights(), alone)) << strategy;
  }
}

TEST_F(Simulated, TheTermHoldsClientsBack) {
  const auto moved = [&](float mu) {
    Options how = options("fedprox");
    how.strategy.mu = mu;
    how.rounds = 1;
    double sum = 0;
    const Weights before = create(how)->weights(), after = run(how)->weights();
    for (const auto& [name, tensor] : before) {
      for (size_t i = 0; i < tensor.data<float>().size(); ++i) {
        const double difference = after.at(name).data<float>()[i] - tensor.data<float>()[i];
        sum += difference * difference;
      }
    }
    return sum;
  };
  const double free = moved(0), held = moved(1), close = moved(5);
  EXPECT_LT(held, 0.9 * free);
  EXPECT_LT(close, 0.5 * held);
}

TEST_F(Simulated, ARoundWithoutAClientEndsAndChangesNothing) {
  for (const Population& nobody :
       {Population{.clients = 30, .present = 0}, Population{.clients = 30, .leaving = 1},
        Population{.clients = 30, .deadline = 0.5}}) {
    Options how = options("fedprox");
    how.population = nobody;
    const auto simulation = run(how);
    EXPECT_EQ(simulation->figures().reported, 0u);
    EXPECT_TRUE(same(simulation->weights(), create(how)->weights()));
    EXPECT_LE(simulation->figures().seconds, 3 * nobody.deadline);
  }
}

// A client whose weights are not finite does not take the network with it.
TEST_F(Simulated, AClientThatDivergesIsLeftOut) {
  Options how = options("fedavg");
  how.fit.optimizer = {.rate = 1e30f};
  const auto simulation = run(how);
  const Figures figures = simulation->figures();
  EXPECT_GT(figures.failed, 5u);
  EXPECT_EQ(figures.failed + figures.reported, figures.invited);
  for (const auto& [name, tensor] : simulation->weights()) {
    for (float element : tensor.data<float>()) EXPECT_TRUE(std::isfinite(element)) << name;
  }
}

TEST_F(Simulated, Learns) {
  Options how = options("fedavg");
  how.rounds = 12;
  how.shards.split = ShardOptions::Split::kIid;
  EXPECT_GT(run(how)->figures().evaluation.top1(), 95);
  how.target_top1 = 50;
  const auto simulation = run(how);
  EXPECT_LT(simulation->figures().rounds, 12);
  EXPECT_GE(simulation->figures().best_top1, 50);
}

// Clients send less, and what they send is still what they learned.
TEST_F(Simulated, LearnsByEveryCodec) {
  Options how = options("fedavg");
  how.rounds = 12;
  how.shards.split = ShardOptions::Split::kIid;
  const double network = run(how)->figures().report_bytes;
  for (const learn::CodecKind kind : learn::all_codecs()) {
    how.codec = kind;
    how.threads = 1;
    const auto simulation = run(how);
    const Figures figures = simulation->figures();
    EXPECT_GT(figures.evaluation.top1(), 80) << name_of(kind);
    EXPECT_EQ(figures.bytes, network * static_cast<double>(figures.invited) +
                                 figures.report_bytes * static_cast<double>(figures.reported));
    if (kind == learn::CodecKind::kOneBit) {
      EXPECT_LT(figures.report_bytes, network / 3);  // its small vectors travel as they are
    }
    how.threads = 3;
    EXPECT_TRUE(same(run(how)->weights(), simulation->weights())) << name_of(kind);
  }
}

TEST_F(Simulated, RefusesWhatClientsCannotDo) {
  Options how = options("fedavg");
  how.fit.patience = 2;
  EXPECT_EQ(check(how).code(), Code::kUnsupported);
  how = options("fedavg");
  how.population.stragglers = 1.5;
  EXPECT_EQ(check(how).code(), Code::kInvalidArgument);
  how = options("fedavg");
  how.per_round = 0;
  EXPECT_EQ(check(how).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::federated
