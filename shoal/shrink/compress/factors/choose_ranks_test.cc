#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "shoal/shrink/compress/factors/rank_front.h"

namespace shoal::compress {
namespace {

using Layers = std::vector<std::vector<RankOption>>;

// Layers with a front each: a choice that costs less loses more.
Layers random_layers(std::mt19937& rng, size_t kinds) {
  std::uniform_int_distribution<int> count(1, 4), number(0, 20);
  Layers layers(static_cast<size_t>(count(rng)));
  for (auto& layer : layers) {
    double lost = 0;
    std::vector<double> costs(kinds, 100);
    for (int i = count(rng); i > 0; --i) {
      layer.push_back({costs, lost});
      lost += number(rng);
      for (double& cost : costs) cost -= number(rng);
    }
  }
  return layers;
}

struct Sum {
  std::vector<double> costs;
  double lost = 0;
};

Sum sum_of(const Layers& layers, const std::vector<size_t>& chosen, size_t kinds) {
  Sum sum{std::vector<double>(kinds), 0};
  for (size_t i = 0; i < layers.size(); ++i) {
    const RankOption& option = layers[i][chosen[i]];
    for (size_t kind = 0; kind < kinds; ++kind) sum.costs[kind] += option.costs[kind];
    sum.lost += option.lost;
  }
  return sum;
}

// Calls f with each choice of options.
template <class F>
void for_each_choice(const Layers& layers, F f) {
  std::vector<size_t> chosen(layers.size());
  while (true) {
    f(chosen);
    size_t i = 0;
    while (i < layers.size() && ++chosen[i] == layers[i].size()) chosen[i++] = 0;
    if (i == layers.size()) return;
  }
}

bool within(const std::vector<double>& costs, const std::vector<double>& most) {
  return std::ranges::equal(costs, most, [](double cost, double bound) { return cost <= bound; });
}

// Against all choices there are.
TEST(ChooseRanks, LosesLeastForWhatItCosts) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> share(0.5, 1);
  size_t met = 0;
  for (int round = 0; round < 500; ++round) {
    const Layers layers = random_layers(rng, 1);
    const std::vector<double> most = {share(rng) * 100 * static_cast<double>(layers.size())};
    bool can_be = false;
    for_each_choice(layers, [&](const auto& chosen) {
      can_be = can_be || within(sum_of(layers, chosen, 1).costs, most);
    });
    const auto chosen = choose_ranks(layers, most);
    ASSERT_EQ(chosen.has_value(), can_be);
    if (!chosen) continue;
    ++met;
    const Sum sum = sum_of(layers, *chosen, 1);
    EXPECT_TRUE(within(sum.costs, most));
    for_each_choice(layers, [&](const auto& other) {
      const Sum others = sum_of(layers, other, 1);
      EXPECT_TRUE(others.costs[0] > sum.costs[0] || others.lost > sum.lost - 1e-9);
    });
  }
  EXPECT_GT(met, 100u);
}

TEST(ChooseRanks, MeetsSeveralBounds) {
  std::mt19937 rng(2);
  std::uniform_real_distribution<double> share(0.6, 1);
  for (int round = 0; round < 300; ++round) {
    const Layers layers = random_layers(rng, 3);
    std::vector<double> most;
    for (int kind = 0; kind < 3; ++kind) {
      most.push_back(share(rng) * 100 * static_cast<double>(layers.size()));
    }
    std::vector<size_t> smallest;
    for (const auto& layer : layers) smallest.push_back(layer.size() - 1);
    const auto chosen = choose_ranks(layers, most);
    ASSERT_EQ(chosen.has_value(), within(sum_of(layers, smallest, 3).costs, most));
    EXPECT_TRUE(!chosen || within(sum_of(layers, *chosen, 3).costs, most));
  }
}

TEST(ChooseRanks, LeavesWhatMeetsTheBoundAlready) {
  const Layers layers = {{{{5}, 0}, {{1}, 0.1}}, {{{5}, 0}, {{1}, 0.2}}};
  EXPECT_EQ(choose_ranks(layers, std::vector{10.0}), (std::vector<size_t>{0, 0}));
  EXPECT_EQ(choose_ranks(layers, std::vector{9.0}), (std::vector<size_t>{1, 0}));
  EXPECT_EQ(choose_ranks(layers, std::vector{2.0}), (std::vector<size_t>{1, 1}));
  EXPECT_FALSE(choose_ranks(layers, std::vector{1.0}));
  EXPECT_TRUE(choose_ranks(Layers(), std::vector{0.0}));
}

// Each step saves of one kind what the other undoes.
TEST(ChooseRanks, EndsWhereKindsContradictEachOther) {
  const Layers layers = {{{{2, 1}, 0}, {{1, 2}, 0}}};
  EXPECT_FALSE(choose_ranks(layers, std::vector{1.0, 1.0}));
}

}  // namespace
}  // namespace shoal::compress
