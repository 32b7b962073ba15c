#include "shoal/train/federated/population.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace shoal::federated {
namespace {

TEST(Permutation, HasEveryNumberOnce) {
  for (const uint64_t size : std::vector<uint64_t>{1, 2, 3, 4, 5, 16, 17, 64, 65, 1000, 4097}) {
    const Permutation order(size, RandomStream(7, size));
    std::vector<uint64_t> all(size), expected(size);
    for (uint64_t i = 0; i < size; ++i) all[i] = order[i];
    if (size >= 16) {
      EXPECT_FALSE(std::ranges::is_sorted(all));
    }
    std::ranges::sort(all);
    std::iota(expected.begin(), expected.end(), uint64_t{0});
    EXPECT_EQ(all, expected);
  }
}

TEST(Population, InvitesAllClientsEquallyOften) {
  constexpr int kRounds = 2000, kInvited = 5, kMean = kRounds * kInvited / 20;
  const Population population{.clients = 20};
  std::vector<int> times(20);
  for (uint64_t round = 0; round < kRounds; ++round) {
    const auto invited = invite(population, round, kInvited);
    EXPECT_EQ(std::set<uint64_t>(invited.begin(), invited.end()).size(), size_t{kInvited});
    for (uint64_t client : invited) ++times[client];
  }
  for (int count : times) EXPECT_NEAR(count, kMean, 5 * 19.4);  // deviation sqrt(2000 1/4 3/4)
}

// Clients come and leave, and stay for a while. A round takes those that are present.
TEST(Population, InvitesOnlyWhoIsThere) {
  const Population population{.clients = 50, .present = 0.3};
  int changes = 0, there = 0;
  for (uint64_t round = 0; round < 200; ++round) {
    const auto invited = invite(population, round, 40);
    size_t present = 0;
    for (uint64_t client = 0; client < 50; ++client) {
      const bool now = is_present(population, round, client);
      present += now;
      changes += now != is_present(population, round + 1, client);
      const bool is_invited = std::ranges::find(invited, client) != invited.end();
      EXPECT_LE(is_invited, now);
    }
    there += static_cast<int>(present);
    EXPECT_EQ(invited.size(), std::min<size_t>(present, 40));
  }
  EXPECT_NEAR(there, 200 * 50 * 0.3, 400);
  EXPECT_NEAR(changes, 200 * 50 * 2 * 0.3 * 0.7 / Population::kStay, 150);
  EXPECT_TRUE(invite({.clients = 1000, .present = 0}, 1, 10).empty());
}

TEST(Population, NobodyWorksBeyondTheDeadline) {
  const Population population{.clients = 100,
                              .stragglers = 0.5,
                              .leaving = 0.1,
                              .step_seconds = 0.5,
                              .slowest = 8,
                              .deadline = 20};
  int late = 0, left = 0;
  for (uint64_t client = 0; client < 1000; ++client) {
    const LocalWork work{.epochs = 5, .steps_per_epoch = static_cast<int64_t>(1 + client % 12)};
    const Conduct conduct = conduct_of(population, client % 7, client, work);
    EXPECT_LE(conduct.seconds, population.deadline);
    EXPECT_LE(static_cast<double>(conduct.steps) * population.step_seconds, population.deadline);
    EXPECT_LE(conduct.steps, work.steps());
    EXPECT_EQ(conduct.is_late, conduct.steps < work.steps());
    late += conduct.is_late;
    left += conduct.leaves;
  }
  EXPECT_GT(late, 500);  // stragglers, and who is too slow
  EXPECT_LT(late, 1000);
  EXPECT_NEAR(left, 100, 50);
}

// As in the scenario of FedProx: this share does one to nine whole epochs of ten.
TEST(Population, StragglersDoWholeEpochs) {
  const Population population{.clients = 10000, .stragglers = 0.9};
  const LocalWork work{.epochs = 10, .steps_per_epoch = 3};
  std::vector<int> epochs(11);
  for (uint64_t client = 0; client < 10000; ++client) {
    const Conduct conduct = conduct_of(population, 3, client, work);
    ASSERT_EQ(conduct.steps % work.steps_per_epoch, 0);
    ++epochs[static_cast<size_t>(conduct.steps / work.steps_per_epoch)];
  }
  EXPECT_EQ(epochs[0], 0);
  for (size_t e = 1; e <= 10; ++e) EXPECT_NEAR(epochs[e], 1000, 150);
}

std::vector<int64_t> labels(size_t count, uint64_t classes) {
  std::vector<int64_t> labels;
  for (size_t i = 0; i < count; ++i) {
    labels.push_back(static_cast<int64_t>(RandomStream(5, 5).below(classes, i)));
  }
  return labels;
}

TEST(Shards, EqualPiecesArePartsOfTheWhole) {
  const auto shards =
      Shards::create(labels(1000, 10), {.split = ShardOptions::Split::kIid, .clients = 100});
  ASSERT_TRUE(shards.ok());
  std::set<size_t> all;
  for (uint64_t client = 0; client < 100; ++client) {
    EXPECT_EQ(shards->size_of(client), 10u);
    for (size_t example : shards->of(client)) EXPECT_TRUE(all.insert(example).second);
  }
  EXPECT_EQ(all.size(), 1000u);
}

TEST(Shards, ClientsHaveTwoClassesAndNothingInCommon) {
  const std::vector<int64_t> all = labels(20000, 10);
  const auto shards = Shards::create(all, {.clients = 300});
  ASSERT_TRUE(shards.ok());
  std::set<size_t> dealt;
  std::vector<size_t> sizes;
  for (uint64_t client = 0; client < 300; ++client) {
    const std::vector<size_t> examples = shards->of(client);
    ASSERT_EQ(examples.size(), shards->size_of(client));
    sizes.push_back(examples.size());
    for (size_t example : examples) {
      EXPECT_TRUE(dealt.insert(example).second);
      const auto label = static_cast<uint64_t>(all[example]);
      EXPECT_TRUE(label == client % 10 || label == (client + 1) % 10);
    }
  }
  std::ranges::sort(sizes);
  EXPECT_GE(sizes[0], 10u);
  EXPECT_GT(sizes[299], 10 * sizes[150]);  // few have most of it
  EXPECT_GT(dealt.size(), 19500u);
}

TEST(Shards, MoreClientsThanExamplesShareThem) {
  for (const auto split : {ShardOptions::Split::kIid, ShardOptions::Split::kClasses}) {
    const auto shards = Shards::create(labels(200, 4), {.split = split, .clients = 5000});
    ASSERT_TRUE(shards.ok());
    for (uint64_t client = 0; client < 5000; ++client) {
      const std::vector<size_t> examples = shards->of(client);
      const std::set<size_t> distinct(examples.begin(), examples.end());
      EXPECT_EQ(distinct.size(), 10u);
      EXPECT_LT(*distinct.rbegin(), 200u);
    }
  }
  EXPECT_FALSE(Shards::create({}, {}).ok());
  EXPECT_FALSE(Shards::create(labels(100, 1), {}).ok());
}

}  // namespace
}  // namespace shoal::federated
