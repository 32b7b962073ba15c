#include "shoal/train/federated/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/base/math/random.h"

namespace shoal::federated {
namespace {

Weights one(std::initializer_list<float> elements) {
  return {{"w", Tensor::of<float>({static_cast<int64_t>(elements.size())}, elements)}};
}

float value(const Weights& weights, size_t i = 0) { return weights.at("w").data<float>()[i]; }

Strategy named(std::string_view name) {
  const auto found = find_strategy(name);
  SHOAL_CHECK(found.has_value());
  return *found;
}

struct Client {
  Weights weights;
  int64_t examples = 1;
};

Weights merged(const Strategy& strategy, const std::vector<Client>& clients) {
  Merger merger(strategy, clients[0].weights);
  for (const Client& client : clients) {
    EXPECT_TRUE(merger.add(client.weights, client.examples).ok());
  }
  return merger.merged();
}

// Honest clients whose weights differ a little.
std::vector<Client> random_clients(size_t count, uint64_t seed) {
  std::vector<Client> clients;
  for (size_t k = 0; k < count; ++k) {
    const RandomStream random(seed, k);
    Tensor w({DType::kF32, {7}}), b({DType::kF32, {2, 3}});
    fill_normal(w.data<float>(), random.child(0), 1);
    fill_normal(b.data<float>(), random.child(1), 1);
    clients.push_back({{{"w", w}, {"b", b}}, static_cast<int64_t>(1 + random.below(1000, 0))});
  }
  return clients;
}

TEST(Strategy, MergesAsComputedByHand) {
  const Weights mean = merged(named("fedavg"), {{one({1, 2}), 1}, {one({4, 8}), 3}});
  EXPECT_EQ(value(mean, 0), 3.25f);
  EXPECT_EQ(value(mean, 1), 6.5f);
  const std::vector<Client> four = {{one({7})}, {one({1})}, {one({100}), 50}, {one({5})}};
  EXPECT_EQ(value(merged(named("median"), four)), 6);
  EXPECT_EQ(value(merged(named("median"), {four[0], four[1], four[2]})), 7);
  Strategy trimmed = named("trimmed");
  EXPECT_EQ(value(merged(trimmed, four)), 113.0f / 4);  // a fifth of four clients is none
  trimmed.trim = 0.25;
  EXPECT_EQ(value(merged(trimmed, four)), 6);
}

// The gradient is what the server had minus what clients agree on.
TEST(Strategy, StepsOutsideAsComputedByHand) {
  const auto round = [](Server& server, float to) {
    Merger merger = server.begin_round();
    EXPECT_TRUE(merger.add({{"s", Tensor::of<float>({1}, {9})}, {"w", one({to}).at("w")}}, 5).ok());
    EXPECT_TRUE(server.end_round(merger).ok());
    EXPECT_EQ(server.weights().at("s").data<float>()[0], 9);  // statistics are only merged
    return value(server.weights());
  };
  const Weights begin = {{"s", Tensor::of<float>({1}, {1})}, {"w", one({1}).at("w")}};

  Server adam(named("fedadam"), begin, {"w"});
  const double first = 1 - 0.01 * 0.5 / (0.5 + 1e-3);  // corrected means: 0.5 and 0.5^2
  EXPECT_NEAR(round(adam, 0.5f), first, 1e-6);

  Server momentum(named("fedavgm"), begin, {"w"});
  EXPECT_NEAR(round(momentum, 0), 1 - 0.7 * (1 + 0.9 * 1), 1e-6);
  const double w = -0.33, velocity = 0.9 * 1 + 0.5;
  EXPECT_NEAR(round(momentum, static_cast<float>(w - 0.5)), w - 0.7 * (0.5 + 0.9 * velocity), 1e-6);
}

TEST(Strategy, OrderOfClientsDoesNotMatter) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Client> clients = random_clients(2 + seed % 9, seed);
    for (const std::string& name : strategy_names()) {
      const Strategy strategy = named(name);
      const Weights before = merged(strategy, clients);
      std::vector<Client> turned = clients;
      std::ranges::reverse(turned);
      std::rotate(turned.begin(), turned.begin() + 1, turned.end());
      const Weights after = merged(strategy, turned);
      for (size_t i = 0; i < 7; ++i) {
        const float a = value(before, i), b = value(after, i);
        if (strategy.merge == Strategy::Merge::kMean) {
          EXPECT_TRUE(a == b || std::nextafter(a, b) == b) << name;  // sums round
        } else {
          EXPECT_EQ(a, b) << name;
        }
      }
    }
  }
}

TEST(Strategy, OneClientIsTakenBitByBit) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Client> client = random_clients(1, seed);
    for (const char* name : {"fedavg", "fedprox", "median", "trimmed"}) {
      Server server(named(name), random_clients(1, seed + 1000)[0].weights, {"b", "w"});
      Merger merger = server.begin_round();
      ASSERT_TRUE(merger.add(client[0].weights, client[0].examples).ok());
      ASSERT_TRUE(server.end_round(merger).ok());
      for (const auto& [key, tensor] : client[0].weights) {
        EXPECT_TRUE(std::ranges::equal(server.weights().at(key).bytes(), tensor.bytes())) << name;
      }
    }
  }
}

// Liars that are fewer than half, or than the share that is cut, move nothing out of the range of
// the honest.
TEST(Strategy, MediansResistLiars) {
  Strategy trimmed = named("trimmed");
  trimmed.trim = 0.3;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (const auto& [strategy, liars] : {std::pair(named("median"), 4), std::pair(trimmed, 3)}) {
      std::vector<Client> clients = random_clients(10, seed);
      const std::vector<Client> honest(clients.begin() + liars, clients.end());
      for (int k = 0; k < liars; ++k) {
        const float lie =
            RandomStream(seed, 99).below(2, static_cast<uint64_t>(k)) != 0 ? 1e30f : -1e30f;
        for (auto& [name, tensor] : clients[static_cast<size_t>(k)].weights) {
          std::ranges::fill(tensor.data<float>(), lie);
        }
      }
      const Weights result = merged(strategy, clients);
      for (size_t i = 0; i < 7; ++i) {
        const auto at = [&](const Client& client) { return value(client.weights, i); };
        const auto [least, most] = std::ranges::minmax(honest, {}, at);
        EXPECT_GE(value(result, i), at(least));
        EXPECT_LE(value(result, i), at(most));
      }
      EXPECT_GT(std::abs(value(merged(named("fedavg"), clients))), 1e20f);  // a mean does not
    }
  }
}

TEST(Strategy, RefusesWhatIsNoNetwork) {
  const Weights like = one({1, 2});
  for (const std::string& name : strategy_names()) {
    Merger merger(named(name), like);
    ASSERT_TRUE(merger.add(like, 3).ok());
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      EXPECT_EQ(merger.add(one({5, bad}), 1).code(), Code::kInvalidArgument);
    }
    EXPECT_EQ(merger.add(one({1}), 1).code(), Code::kInvalidArgument);
    EXPECT_EQ(merger.add({{"v", like.at("w")}}, 1).code(), Code::kInvalidArgument);
    EXPECT_EQ(merger.add({{"w", Tensor({DType::kI64, {2}})}}, 1).code(), Code::kInvalidArgument);
    EXPECT_EQ(merger.add(like, 0).code(), Code::kInvalidArgument);
    EXPECT_EQ(merger.clients(), 1u);
    EXPECT_EQ(value(merger.merged(), 1), 2);
  }
  EXPECT_FALSE(find_strategy("fedsgd").has_value());
  EXPECT_FALSE(check(Strategy{.trim = 0.5}).ok());
  EXPECT_FALSE(check(Strategy{.mu = -1}).ok());
}

TEST(Strategy, ARoundWithoutClientsChangesNothing) {
  Server server(named("fedadam"), one({1, 2}), {"w"});
  ASSERT_TRUE(server.end_round(server.begin_round()).ok());
  EXPECT_EQ(value(server.weights(), 1), 2);
}

}  // namespace
}  // namespace shoal::federated
