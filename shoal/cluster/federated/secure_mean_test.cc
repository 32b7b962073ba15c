#include "shoal/cluster/federated/secure_mean.h"

#include <gtest/gtest.h>

#include <limits>

#include "shoal/cluster/federated/federated_rounds_testing.h"

namespace shoal::federated_cluster {
namespace {

using federated::ClientReport;
using federated::Options;
using federated::Simulation;
using federated::Weights;
using fit::testing::Rows;
using testing::largest_difference;
using testing::small_network;

Weights drawn(uint64_t seed) {
  Weights weights{{"a", Tensor({DType::kF32, {3, 5}})}, {"b", Tensor({DType::kF32, {7}})}};
  for (auto& [name, tensor] : weights) {
    fill_normal(tensor.data<float>(), RandomStream(seed, static_cast<uint64_t>(name[0])), 0.2);
  }
  return weights;
}

// The mean is that of federated::Merger, with as many drop-outs as the round can bear.
TEST(SecureMean, IsTheMeanByExamplesOfThoseThatReport) {
  for (const size_t clients : {3u, 4u, 8u, 20u}) {
    const size_t dropped = clients > 3 ? clients / 3 : 0;
    const Weights from = drawn(99);
    federated::Merger merger({}, from);
    std::vector<std::optional<ClientReport>> reports(clients);
    for (size_t k = dropped; k < clients; ++k) {
      reports[k] = ClientReport{drawn(k), static_cast<int64_t>(100 * k + 600)};
      ASSERT_TRUE(merger.add(reports[k]->weights, reports[k]->examples).ok());
    }
    const auto mean = merge_by_secure_sum(1)(7, from, reports);
    ASSERT_TRUE(mean.ok()) << mean.status().message();
    EXPECT_EQ(mean->clients, clients - dropped);
    EXPECT_EQ(mean->clamped, 0u);
    EXPECT_LT(largest_difference(mean->weights, merger.merged()), 1e-6) << clients;
    EXPECT_GT(mean->cost.bytes, mean->cost.plain_bytes);
  }
}

TEST(SecureMean, CountsWhatItClamps) {
  const Weights from = drawn(1);
  std::vector<std::optional<ClientReport>> reports(3);
  for (auto& one : reports) one = ClientReport{drawn(1), 10};
  reports[1]->weights["b"] = reports[1]->weights["b"].clone();
  reports[1]->weights["b"].data<float>()[2] += 5;
  const auto mean = merge_by_secure_sum(0.5)(0, from, reports);
  ASSERT_TRUE(mean.ok());
  EXPECT_EQ(mean->clamped, 1u);
  EXPECT_NEAR(mean->weights.at("b").data<float>()[2], from.at("b").data<float>()[2] + 0.5 / 3,
              1e-4);
}

TEST(SecureMean, RefusesWhatCannotBeSummed) {
  const Weights from = drawn(1);
  const SecureCode code{.most_examples = 8};
  EXPECT_FALSE(vector_of(from, {drawn(2), 0}, 0, code).ok());
  EXPECT_FALSE(vector_of(from, {{}, 5}, 0, code).ok());
  EXPECT_FALSE(vector_of(from, {drawn(2), 9}, 0, code).ok());
  EXPECT_TRUE(vector_of(from, {drawn(2), 8}, 0, code).ok());
  Weights bad = drawn(2);
  bad["a"].data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(vector_of(from, {bad, 5}, 0, code).ok());
  EXPECT_FALSE(check(SecureCode{.range = 0}).ok());
  EXPECT_FALSE(check(SecureCode{.clients = 2}).ok());
  EXPECT_FALSE(check(SecureCode{.clients = 4, .most_examples = int64_t{1} << 30}).ok());
  EXPECT_TRUE(check(SecureCode{.clients = 4, .most_examples = int64_t{1} << 29}).ok());
  std::vector<std::optional<ClientReport>> reports(4);
  reports[0] = ClientReport{drawn(3), 5};
  EXPECT_EQ(merge_by_secure_sum(1)(0, from, reports).status().code(), Code::kUnavailable);
  EXPECT_EQ(merge_by_secure_sum(1)(0, from, {}).status().code(), Code::kUnavailable);
}

class SecretRounds : public ::testing::Test {
 protected:
  static Options options(std::string_view strategy) {
    Options options{.strategy = *federated::find_strategy(strategy),
                    .population = {.clients = 30, .leaving = 0.15},
                    .shards = {.least = 12},
                    .rounds = 4,
                    .per_round = 8,
                    .threads = 2};
    options.fit.epochs = 2;
    options.fit.batch = 5;
    options.fit.optimizer = {.rate = 0.05f, .momentum = 0.9f};
    options.fit.schedule = train::Schedule::Kind::kConstant;
    return options;
  }
  std::unique_ptr<Simulation> run(const Options& options) {
    auto made = Simulation::create({*device_, *device_}, small_network, data_, options);
    SHOAL_CHECK(made.ok());
    while (!(*made)->is_over()) EXPECT_TRUE((*made)->round().ok());
    return *std::move(made);
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  fit::TrainingData data_{std::make_shared<Rows>(600), std::make_shared<Rows>(40, 99)};
};

// Rounds with secret sums give the weights of open rounds, although clients leave.
TEST_F(SecretRounds, LearnWhatOpenRoundsLearn) {
  for (const char* strategy : {"fedavg", "fedprox", "fedadam"}) {
    Options how = options(strategy);
    const auto open = run(how);
    how.merge_secretly = merge_by_secure_sum(4);
    const auto secret = run(how);
    EXPECT_GT(secret->figures().left, 2u);
    EXPECT_EQ(secret->figures().reported, open->figures().reported) << strategy;
    EXPECT_EQ(secret->figures().clamped, 0u);
    EXPECT_NEAR(secret->figures().loss, open->figures().loss, 1e-4);
    // FedAdam divides by the root of small squares, which makes differences larger.
    const double bound = strategy == std::string_view("fedadam") ? 1e-3 : 3e-6;
    EXPECT_LT(largest_difference(secret->weights(), open->weights()), bound) << strategy;
    EXPECT_GT(secret->figures().bytes, open->figures().bytes);
  }
}

// Too many leave: the round changes nothing, and the next one begins.
TEST_F(SecretRounds, GoOnWhereTooManyLeave) {
  Options how = options("fedavg");
  how.population.leaving = 0.9;
  how.merge_secretly = merge_by_secure_sum(1);
  const auto secret = run(how);
  EXPECT_EQ(secret->figures().rounds, 4);
  EXPECT_EQ(secret->figures().reported, 0u);
}

TEST_F(SecretRounds, RefuseStrategiesThatCompareClients) {
  for (const char* strategy : {"median", "trimmed"}) {
    Options how = options(strategy);
    EXPECT_TRUE(federated::check(how).ok());
    how.merge_secretly = merge_by_secure_sum(1);
    EXPECT_EQ(federated::check(how).code(), Code::kUnsupported);
  }
  Options how = options("fedavg");
  how.merge_secretly = merge_by_secure_sum(1);
  how.codec = learn::CodecKind::kInt8;
  EXPECT_EQ(federated::check(how).code(), Code::kUnsupported);
  how.codec = learn::CodecKind::kF32;
  how.per_round = 2;
  EXPECT_EQ(federated::check(how).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::federated_cluster
