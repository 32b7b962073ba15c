#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "shoal/shrink/search/dag_schedule.h"
#include "shoal/shrink/search/dag_testing.h"

namespace shoal::concurrent {
namespace {

constexpr double kRounding = 1e-9;

double heaviest(const Workload& work, const Partition& unit_of, size_t units) {
  std::vector<double> load(units, 0);
  for (size_t v = 1; v < work.dag.sink(); ++v) load.at(unit_of[v]) += work.macs[v];
  return *std::max_element(load.begin(), load.end());
}

TEST(Partitions, AreBalanced) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomWork c(seed, 1 + seed % 40, 8);
    const size_t units = c.units.count;
    const double inner = std::accumulate(c.work.macs.begin() + 1, c.work.macs.end() - 1, 0.0);
    const double largest = *std::max_element(c.work.macs.begin() + 1, c.work.macs.end() - 1);
    for (const double balance : {1.0, 1.5}) {
      const Partition result = partition(c.work, units, balance);
      ASSERT_EQ(result.size(), c.work.dag.size());
      EXPECT_EQ(result.back(), units);
      const double mean = inner / static_cast<double>(units);
      EXPECT_LE(heaviest(c.work, result, units),
                std::max(balance * mean, mean + largest) + kRounding);
    }
  }
}

// All units for all vertices, under the same cap.
double fewest_bytes(const Workload& work, size_t units, double balance) {
  double best = 1e18;
  Partition unit_of(work.dag.size(), 0);
  unit_of.back() = units;
  for (bool more = true; more;) {
    if (heaviest(work, unit_of, units) <= most_work(work, units, balance)) {
      best = std::min(best, cut_bytes(work, unit_of));
    }
    size_t v = 1;
    while (v < work.dag.sink() && ++unit_of[v] == units) unit_of[v++] = 0;
    more = v < work.dag.sink();
  }
  return best;
}

TEST(Partitions, OfSmallDagsAreNearTheBest) {
  double worst = 1;
  int equal = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const RandomWork c(seed, 1 + seed % 8, 3);
    const double best = fewest_bytes(c.work, c.units.count, 1.25);
    const double result = cut_bytes(c.work, partition(c.work, c.units.count, 1.25));
    ASSERT_GE(result, best - kRounding) << seed;
    worst = std::max(worst, result / best);
    equal += result < best + kRounding;
  }
  EXPECT_GE(equal, 97);  // of 100
  EXPECT_LE(worst, 1.2);
}

// Equal work on 4 units. A chain is cut into 4 pieces, and the last is sent to the sink.
TEST(Scores, HaveClosedFormsForChains) {
  const auto of = [](const Dag& dag) {
    const Workload work = uniform_workload(dag, 3, 0.5);
    return score(work, partition(work, 4, 1), 4);
  };
  const Score chain = of(chains(1, 20)), planted = of(chains(4, 5));
  EXPECT_NEAR(chain.eta, 4, kRounding);
  EXPECT_NEAR(chain.lambda, 4 * 0.5, kRounding);
  EXPECT_NEAR(chain.lambda_prime, 1, kRounding);
  EXPECT_NEAR(chain.cs(), std::cbrt(chain.delta * 4), kRounding);
  EXPECT_NEAR(planted.eta, 1, kRounding);
  EXPECT_NEAR(planted.delta, 1, kRounding);
  EXPECT_NEAR(planted.lambda, 4 * 0.5, kRounding);
  EXPECT_NEAR(planted.cs(), 1, kRounding);
}

// (2 * 1.5^1.5 * 0.5)^(1/3), worked out by hand.
TEST(Scores, WeighTheirPartsAsTheThesisDoes) {
  const Score score{.eta = 0.5, .delta = 2, .lambda = 7, .lambda_prime = 1.5};
  EXPECT_NEAR(score.cs(), 1.2247448714, 1e-9);
}

// What is needed on two other units is sent twice, what two vertices of one unit need once.
TEST(Scores, CountUnitsNotEdges) {
  Workload work = uniform_workload(make_dag(4, {{0, 1}, {0, 2}, {0, 3}}), 1, 1);
  work.bytes = {0, 8, 2, 2, 2, 0};
  EXPECT_EQ(cut_bytes(work, {0, 0, 1, 2, 2, 4}), 2 * 8 + 3 * 2);
  EXPECT_EQ(cut_bytes(work, {0, 0, 1, 1, 1, 4}), 8 + 3 * 2);
  EXPECT_EQ(cut_bytes(work, {0, 0, 0, 0, 0, 4}), 3 * 2);
}

TEST(Scores, AreInTheirRanges) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomWork c(seed, 1 + seed % 30, 8);
    const Score result = best_score(c.work, c.units.count);
    const double n = static_cast<double>(c.units.count);
    EXPECT_GE(result.delta + kRounding, 1);
    EXPECT_LE(result.delta, n + kRounding);
    EXPECT_GT(result.eta, 0);
    EXPECT_LE(result.eta, n + kRounding);
    EXPECT_GE(result.lambda_prime + kRounding, 1 / n);
    for (const double balance : {1.0, 1.5}) {
      EXPECT_LE(result.cs(),
                score(c.work, partition(c.work, c.units.count, balance), c.units.count).cs());
    }
  }
}

// Chains beside each other with a few random edges between them, against one chain of the same
// work.
TEST(Scores, OfPlantedConcurrencyAreBetterThanOfAChain) {
  const double chain = best_score(uniform_workload(chains(1, 40), 1, 1), 4).cs();
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 rng(seed);
    std::vector<Edge> edges = chain_edges(4, 10);
    edges.emplace_back(rng() % 10, 10 + rng() % 30);
    EXPECT_LT(best_score(uniform_workload(make_dag(40, edges), 1, 1), 4).cs(), chain) << seed;
  }
}

}  // namespace
}  // namespace shoal::concurrent
