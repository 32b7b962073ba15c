// Federated rounds on workers in this process, each with its own data.
#include <gtest/gtest.h>

#include "here.h"
#include "messages.pb.h"
#include "shoal/cluster/federated/client_session.h"
#include "shoal/cluster/federated/federated_rounds_testing.h"
#include "shoal/cluster/federated/run_rounds.h"
#include "visitor.h"

namespace shoal::cluster {
namespace {

namespace federated_testing = federated_cluster::testing;
using federated_cluster::Outcome;
using federated_cluster::RunOptions;
using federated_testing::simulate;
using federated_testing::Simulated;
using federated_testing::small_network;
using federated_testing::small_options;

class FederatedCluster : public testing::Test {
 protected:
  // Worker i has the data of simulated client i.
  void begin(const RunOptions& options, size_t workers, size_t without_data = 99) {
    simulated_ = simulate(*device_, options.hub.rounds);
    cluster_.emplace(static_cast<int>(workers));
    for (size_t i = 0; i < workers; ++i) {
      start(i, i == without_data ? nullptr : simulated_.shards[i]);
    }
    // Those that were started again are connected again.
    EXPECT_TRUE(eventually([&] {
      cluster_->coordinator().revive_lost();
      return cluster_->coordinator().lost().empty();
    }));
  }
  void start(size_t worker) { start(worker, simulated_.shards[worker]); }
  void start(size_t worker, std::shared_ptr<const Dataset> data) {
    cluster_->start(worker, {.tasks = {{federated_cluster::kFederatedTask,
                                        federated_cluster::learn_from(std::move(data))}}});
    EXPECT_TRUE(eventually([&] {
      const auto lost = cluster_->coordinator().lost();
      return std::ranges::count(lost, static_cast<int>(worker)) > 0;
    }));
  }
  Result<Outcome> run(const RunOptions& options) {
    return run_rounds(cluster_->coordinator(), *device_, small_network, nullptr, options);
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  Simulated simulated_;
  std::optional<Cluster> cluster_;
};

RunOptions options_for(std::string_view strategy, uint64_t workers) {
  return {.hub = {.rounds = small_options(strategy, workers, workers)}};
}

TEST_F(FederatedCluster, LearnsWhatTheSimulationLearns) {
  RunOptions options = options_for("fedavg", 3);
  begin(options, 3);
  for (const char* strategy : {"fedavg", "median"}) {
    options.hub.rounds.strategy = *federated::find_strategy(strategy);
    const Simulated wanted = simulate(*device_, options.hub.rounds);
    const auto outcome = run(options);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    EXPECT_TRUE(outcome->lost.empty());
    EXPECT_TRUE(fit::testing::same(outcome->weights, wanted.weights)) << strategy;
    EXPECT_EQ(outcome->figures.reported, wanted.figures.reported);
  }
}

TEST_F(FederatedCluster, SumsSecretly) {
  RunOptions options = options_for("fedavg", 4);
  begin(options, 4);
  options.hub.secret = true;
  options.hub.range = 4;
  const auto outcome = run(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->figures.reported, simulated_.figures.reported);
  EXPECT_LT(federated_testing::largest_difference(outcome->weights, simulated_.weights), 3e-6);
}

// A worker that is lost in the middle of a round costs its part of it; back again, it has a part in
// later ones.
TEST_F(FederatedCluster, GoesOnWithoutALostWorkerAndTakesItBack) {
  RunOptions options = options_for("fedavg", 3);
  begin(options, 3);
  options.hub.rounds.rounds = 1'000'000;
  options.hub.rounds.local_steps = 20;
  options.retry_interval = std::chrono::milliseconds(1);
  size_t fewer = 0, after = 0;
  options.on_round = [&](const federated::RoundReport& round) {
    if (round.round == 2) start(1);  // in the place of the one that was there
    fewer += round.invited < 3 || round.left > 0 ? 1 : 0;
    if (round.round > 2 && round.reported == 3) ++after;
  };
  options.cancelled = [&] { return fewer > 0 && after >= 3; };
  const auto outcome = run(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  ASSERT_EQ(outcome->lost.size(), 1u);
  EXPECT_NE(outcome->lost[0].message().find("worker-1"), std::string_view::npos);
}

// A worker without data has no part, and says why; without any other the run fails with that.
TEST_F(FederatedCluster, WorkersWithoutDataRefuse) {
  RunOptions options = options_for("fedavg", 3);
  begin(options, 3, /*without_data=*/2);
  auto outcome = run(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->figures.reported, 6u);
  ASSERT_EQ(outcome->lost.size(), 1u);
  EXPECT_NE(outcome->lost[0].message().find("without data"), std::string_view::npos);
  cluster_.emplace(2);
  options.hub.rounds.per_round = 2;
  outcome = run(options);
  EXPECT_EQ(outcome.status().code(), Code::kUnsupported);
}

// Orders that no hub gives end the worker's part, and nothing else.
TEST_F(FederatedCluster, WorkersEndARunWhoseHubBreaksTheProtocol) {
  const RunOptions options = options_for("fedavg", 3);
  begin(options, 3);
  Visitor visitor(cluster_->network(), address_of(0), "bad", net::Role::kCoordinator);
  const TrainingSetup setup{.network = small_network(5)->graph, .trainer = {}, .exchange = {}};
  const EncodedSetup encoded = *encode_setup(setup);
  std::string payload;
  for (const net::Bytes piece : encoded.pieces()) {
    payload.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  const auto order = [](const federated_cluster::ToClient& message) {
    const std::vector<std::byte> bytes = encode(message);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  uint64_t run_number = 0;
  for (const std::string& hostile :
       {std::string("nonsense"), order(federated_cluster::RoundMessage{}), std::string()}) {
    message::Message train;
    train.mutable_begin_task()->set_task(++run_number);
    train.mutable_begin_task()->set_name(federated_cluster::kFederatedTask);
    train.mutable_begin_task()->set_header(encoded.header());
    ASSERT_TRUE(visitor.ask(train, payload).has_task_ready());
    message::Message said;
    said.mutable_task_message()->set_task(run_number);
    const message::Message reply = visitor.ask(said, hostile);
    EXPECT_TRUE(reply.has_failed() && reply.failed().task() == run_number);
  }
  EXPECT_TRUE(run(options).ok());
}

}  // namespace
}  // namespace shoal::cluster
