#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "shoal/shrink/search/dag.h"

namespace shoal::concurrent {
namespace {

size_t inner_edges(const Dag& dag) {
  size_t count = 0;
  for (size_t v = 1; v < dag.sink(); ++v) {
    for (size_t to : dag.successors[v]) count += to != dag.sink();
  }
  return count;
}

// A generator of any kind with parameters in range, and a number of vertices.
struct Case {
  Generator generator;
  size_t vertices;

  explicit Case(unsigned seed) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    vertices = 4 + rng() % 60;
    switch (seed % 4) {
      case 0:
        generator = ErdosRenyi{uniform(rng)};
        break;
      case 1:
        generator = BarabasiAlbert{1 + rng() % (vertices - 1)};
        break;
      case 2:
        generator = WattsStrogatz{2 * (1 + rng() % ((vertices - 2) / 2)), uniform(rng)};
        break;
      default:
        generator = DistanceProbability{uniform(rng), uniform(rng), 0.1 + uniform(rng)};
    }
  }
};

void expect_well_formed(const Dag& dag, size_t vertices) {
  ASSERT_EQ(dag.size(), vertices + 2);
  EXPECT_TRUE(dag.predecessors.front().empty());
  EXPECT_TRUE(dag.successors.back().empty());
  std::vector<Edge> forward, backward;
  for (size_t v = 0; v < dag.size(); ++v) {
    // One source and one sink: with edges that only go up, every vertex is on a path between them.
    EXPECT_TRUE(v == 0 || !dag.predecessors[v].empty()) << v;
    EXPECT_TRUE(v == dag.sink() || !dag.successors[v].empty()) << v;
    for (size_t to : dag.successors[v]) forward.emplace_back(v, to);
    for (size_t from : dag.predecessors[v]) backward.emplace_back(from, v);
  }
  for (const auto& [from, to] : forward) EXPECT_LT(from, to);
  std::sort(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(std::adjacent_find(forward.begin(), forward.end()), forward.end()) << "twice";
}

TEST(Generators, MakeDagsOfOneSourceAndOneSink) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c(seed);
    const auto dag = generate(c.generator, c.vertices, seed);
    ASSERT_TRUE(dag.ok()) << dag.status().message();
    expect_well_formed(*dag, c.vertices);
    EXPECT_EQ(*dag, *generate(c.generator, c.vertices, seed));
  }
}

TEST(Generators, DependOnTheSeed) {
  for (const Generator& generator :
       {Generator(ErdosRenyi{}), Generator(BarabasiAlbert{}), Generator(WattsStrogatz{}),
        Generator(DistanceProbability{})}) {
    EXPECT_NE(*generate(generator, 40, 1), *generate(generator, 40, 2)) << generator.index();
  }
}

TEST(Generators, KeepTheEdgesTheyPromise) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c(seed);
    const Dag dag = *generate(c.generator, c.vertices, seed);
    if (const auto* ba = std::get_if<BarabasiAlbert>(&c.generator)) {
      EXPECT_EQ(inner_edges(dag), ba->edges * (c.vertices - ba->edges));
      for (size_t v = ba->edges; v < c.vertices; ++v) {
        EXPECT_EQ(dag.predecessors[v + 1].size(), ba->edges);
      }
    } else if (const auto* ws = std::get_if<WattsStrogatz>(&c.generator)) {
      EXPECT_EQ(inner_edges(dag), c.vertices * ws->neighbours / 2);
      for (size_t v = 1; v < dag.sink(); ++v) {  // those that begin in it stay its own
        EXPECT_GE(dag.predecessors[v].size() + dag.successors[v].size(), ws->neighbours / 2);
      }
    }
  }
}

TEST(Generators, LeaveTheRingAsItIsWithoutLeadingEdges) {
  const Dag ring = *generate(WattsStrogatz{4, 0}, 30, 1);
  for (size_t v = 3; v < 29; ++v) {
    EXPECT_EQ(ring.successors[v], (std::vector<size_t>{v + 1, v + 2})) << v;
  }
}

// Five deviations of a sum of independent edges, over all seeds.
void expect_mean_edges(const Generator& generator, size_t vertices, double mean, double variance) {
  constexpr int kSeeds = 200;
  double sum = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    sum += static_cast<double>(inner_edges(*generate(generator, vertices, seed)));
  }
  EXPECT_NEAR(sum / kSeeds, mean, 5 * std::sqrt(variance / kSeeds)) << generator.index();
}

TEST(Generators, HaveTheExpectedNumberOfEdges) {
  for (const double p : {0.0, 0.05, 0.3, 1.0}) {
    const double pairs = 40 * 39 / 2;
    expect_mean_edges(ErdosRenyi{p}, 40, p * pairs, p * (1 - p) * pairs);
  }
  for (const DistanceProbability& dp :
       {DistanceProbability{}, DistanceProbability{0.4, 0.8, 1}, DistanceProbability{1, 0.67, 2}}) {
    double mean = 0, variance = 0;
    for (int i = 0; i < 40; ++i) {
      for (int j = 0; j < i; ++j) {
        const double p =
            dp.alpha * std::pow(dp.probability, dp.beta * std::min(i - j, 40 - (i - j)));
        mean += p;
        variance += p * (1 - p);
      }
    }
    expect_mean_edges(dp, 40, mean, variance);
  }
}

TEST(Generators, RefuseParametersOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<Generator, size_t> bad[] = {
      {ErdosRenyi{}, 0},
      {ErdosRenyi{}, kMostVertices + 1},
      {ErdosRenyi{-0.1}, 10},
      {ErdosRenyi{1.1}, 10},
      {ErdosRenyi{nan}, 10},
      {BarabasiAlbert{0}, 10},
      {BarabasiAlbert{10}, 10},
      {WattsStrogatz{3, 0.5}, 10},
      {WattsStrogatz{0, 0.5}, 10},
      {WattsStrogatz{10, 0.5}, 10},
      {WattsStrogatz{4, nan}, 10},
      {DistanceProbability{2, 0.5, 1}, 10},
      {DistanceProbability{0.5, nan, 1}, 10},
      {DistanceProbability{0.5, 0.5, 0}, 10},
  };
  for (const auto& [generator, vertices] : bad) {
    EXPECT_EQ(generate(generator, vertices, 1).status().code(), Code::kInvalidArgument)
        << generator.index();
  }
}

}  // namespace
}  // namespace shoal::concurrent
