// Networks made from random DAGs are ordinary graphs: they run, learn, are exported, and give the
// same answer over several units.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "../plan/run_here.h"
#include "shoal/base/math/random.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/shrink/search/dag_network.h"
#include "shoal/shrink/search/dag_score.h"
#include "shoal/shrink/search/generate_dag.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::concurrent {
namespace {

// Of the kinds and densities of [Hadidi 2021, 5.2], in turns.
Dag random_dag(uint64_t seed, size_t vertices) {
  const Generator generators[] = {ErdosRenyi{0.1},
                                  BarabasiAlbert{2},
                                  BarabasiAlbert{3},
                                  WattsStrogatz{4, 0.25},
                                  WattsStrogatz{4, 0.75},
                                  DistanceProbability{1, 0.67, 1},
                                  DistanceProbability{0.4, 0.8, 1},
                                  DistanceProbability{0.2, 0.9, 1}};
  return *generate(generators[seed % std::size(generators)], vertices, seed);
}

// Plain blocks of one level have few channels here, so that no width may be near the budget.
NetworkOptions tiny(uint64_t seed) {
  return {.macs = 1'000'000,
          .classes = 5,
          .size = 7 + static_cast<int64_t>(seed % 3),
          .batch = 2,
          .levels = 1 + static_cast<int>(seed % 3),
          .staging = seed % 4 < 2 ? Staging::kProbabilistic : Staging::kGreedy,
          .block = seed % 3 == 0 || seed % 2 == 1 ? Block::kSeparable : Block::kPlain,
          .seed = seed};
}

int64_t macs_of_one(const Graph& graph, int64_t batch) {
  int64_t sum = 0;
  for (const Node& node : graph.nodes()) sum += macs(graph, node);
  return sum / batch;
}

TEST(ConcurrentNetwork, MeetsTheBudget) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    NetworkOptions options = tiny(seed);
    options.size = 32;
    options.levels = 2 + static_cast<int>(seed % 2);
    options.macs = int64_t{20'000'000} << seed % 3;
    const auto network = make_network(random_dag(seed, 20), options);
    ASSERT_TRUE(network.ok()) << network.status().message();
    const int64_t counted = macs_of_one(network->graph, options.batch);
    EXPECT_NEAR(static_cast<double>(counted), static_cast<double>(network->macs), 100);
    EXPECT_NEAR(static_cast<double>(counted) / static_cast<double>(options.macs), 1, 0.05);
  }
}

TEST(ConcurrentNetwork, RefusesWhatCannotBeBuilt) {
  const Dag dag = random_dag(0, 20);
  NetworkOptions changes[5];
  changes[0].macs = 1000;  // less than the narrowest
  changes[1].macs = 0;
  changes[2].levels = 9;
  changes[3].classes = 0;
  changes[4].size = -1;
  for (const NetworkOptions& options : changes) {
    EXPECT_EQ(make_network(dag, options).status().code(), Code::kInvalidArgument);
  }
}

TEST(ConcurrentNetwork, DependsOnTheSeedOnly) {
  const Dag dag = random_dag(3, 10);
  const auto text_of = [&](uint64_t seed) {
    NetworkOptions options = tiny(3);
    options.seed = seed;
    const auto network = make_network(dag, options);
    return network.ok() ? to_text(network->graph) : std::string(network.status().message());
  };
  EXPECT_EQ(text_of(3), text_of(3));
  EXPECT_NE(text_of(3), text_of(4));
}

TEST(ConcurrentNetwork, ComputesTheSameOverUnits) {
  const auto device = make_reference_device();
  for (uint64_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto network = make_network(random_dag(seed, 10), tiny(seed));
    ASSERT_TRUE(network.ok()) << network.status().message();
    const size_t units = 1 + seed % 5;
    const Schedule schedule = make_schedule(workload_of(*network), {.count = units});
    const plan::Plan plan = plan_of(*network, schedule, units);
    const Status valid = plan::verify(network->graph, plan, static_cast<int>(units) + 1);
    ASSERT_TRUE(valid.ok()) << valid.message();
    plan::Rng rng(static_cast<unsigned>(seed));
    const auto inputs = plan::random_inputs(rng, network->graph);
    const auto whole = plan::run_whole(network->graph, *device, inputs);
    EXPECT_EQ(to_string(whole[0].shape()), "[2,5]");
    EXPECT_LE(relative_error(plan::run_here(network->graph, plan, *device, inputs), whole),
              kSameAnswer);
  }
}

TEST(ConcurrentNetwork, LearnsAndIsExported) {
  const auto device = make_reference_device();
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto network = make_network(random_dag(seed, 6), tiny(seed));
    ASSERT_TRUE(network.ok()) << network.status().message();
    auto trainer = train::Trainer::create(*device, network->graph, {});
    ASSERT_TRUE(trainer.ok()) << trainer.status().message();
    Tensor images(network->graph[network->graph.inputs()[0]].type);
    fill_normal(images.data<float>(), RandomStream(seed, 0), 1);
    const Tensor labels = Tensor::of<int64_t>({2}, {1, 3});
    const auto first = trainer->step(images, std::span(&labels, 1));
    ASSERT_TRUE(first.ok()) << first.status().message();
    float last = *first;
    for (int i = 0; i < 3; ++i) last = *trainer->step(images, std::span(&labels, 1));
    EXPECT_LT(last, *first);
    EXPECT_TRUE(onnx::to_onnx(*trainer->network()).ok());
  }
}

// Ranks from 0, the mean one for equal values.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (double value : values) {
    double rank = -0.5;
    for (double other : values) rank += other < value ? 1 : other == value ? 0.5 : 0;
    ranks.push_back(rank);
  }
  return ranks;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

// Over 500 DAGs on 8 units; to send what a vertex makes takes a quarter of the time to compute it,
// and as long as that. The bar was 0.7 of CS, in which Lambda counts most, and is less
// where the path is longer.
TEST(ConcurrentNetwork, ScoreRanksNearlyAsSchedulesDo) {
  struct Case {
    double bytes_per_second, cs, estimate;  // the least rank correlations
  };
  for (const Case& c : {Case{4, 0.7, 0.9}, Case{1, 0.7, 0.9}}) {
    const Units units{.count = 8, .macs_per_second = 1, .bytes_per_second = c.bytes_per_second};
    std::vector<double> scores, estimates, seconds;
    for (uint64_t seed = 0; seed < 500; ++seed) {
      const Workload work = uniform_workload(random_dag(seed, 40), 1, 1);
      const Score made = best_score(work, units.count);
      scores.push_back(made.cs());
      estimates.push_back(made.seconds(units));
      seconds.push_back(make_schedule(work, units).seconds());
    }
    EXPECT_GE(spearman(scores, seconds), c.cs);           // 0.72, 0.74
    EXPECT_GE(spearman(estimates, seconds), c.estimate);  // 0.99, 0.92
  }
}

}  // namespace
}  // namespace shoal::concurrent
