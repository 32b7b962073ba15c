// What a plan with redundancy can do without.
#include "shoal/plan/survives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::plan {
namespace {

// So many workers, each lost before some segment or after the last.
Losses random_losses(Rng& rng, const Plan& plan, int losses, int workers) {
  Losses lost;
  while (std::ssize(lost) < losses) {
    const int worker = static_cast<int>(draw(rng, 0, workers - 1));
    lost[worker] = static_cast<size_t>(draw(rng, 0, std::ssize(plan.segments)));
  }
  return lost;
}

TEST(Replicas, GiveTheAnswerWhoeverIsLost) {
  const auto device = make_cpu_device({.threads = 1});
  int cases = 0;
  for (unsigned seed = 0; cases < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    ++cases;
    const int losses = static_cast<int>(draw(rng, 1, 2));
    const int workers = static_cast<int>(draw(rng, losses + 1, 8));
    const Plan single = random_plan(rng, graph, workers);
    const Plan plan = random_replicas(rng, single, losses, workers);
    SCOPED_TRACE(to_text(graph, plan));
    const Status status = verify(graph, plan, workers);
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<Tensor> inputs = random_inputs(rng, graph);
    const Losses lost = random_losses(rng, plan, losses, workers);
    expect_near(run_here(graph, plan, *device, inputs, lost), run_whole(graph, *device, inputs));
    if (HasFatalFailure()) return;
  }
}

// One loss too many is told from one that is not: where `answers` says that the answer comes, no
// element of it depends on the lost.
TEST(Answers, AreThereWhereTheyAreSaidToBe) {
  const auto device = make_cpu_device({.threads = 1});
  int answered = 0, unanswered = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const int workers = static_cast<int>(draw(rng, 2, 5));
    const int survives = static_cast<int>(draw(rng, 0, 1));
    const Plan single = random_plan(rng, graph, workers);
    const Plan plan = random_replicas(rng, single, survives, workers);
    const Schedule schedule = *make_schedule(graph, plan);
    Losses losses;
    std::vector<int> lost;
    for (int i = static_cast<int>(draw(rng, 1, 2)); i > 0; --i) {
      lost.push_back(static_cast<int>(draw(rng, 0, workers - 1)));
      losses[lost.back()] = 0;
    }
    const std::vector<Tensor> inputs = random_inputs(rng, graph);
    bool whole = true;
    for (const Tensor& output : run_here(graph, plan, *device, inputs, losses)) {
      whole = whole && std::ranges::none_of(output.data<float>(), [](float x) { return x != x; });
    }
    const bool can = survives_loss(graph, plan, schedule, lost);
    EXPECT_TRUE(!can || whole) << to_text(graph, plan);
    ++(can ? answered : unanswered);
  }
  EXPECT_GT(answered, 20);
  EXPECT_GT(unanswered, 20);
}

TEST(Survival, IsRefusedWhereOneWorkerIsAlone) {
  Rng rng(1);
  Graph graph = random_network(rng);
  while (graph.nodes().size() < 2) graph = random_network(rng);
  Plan plan{{{{0, graph.nodes().size()}, "one worker", {}}}};
  const auto pieces = whole_pieces(graph, plan.segments[0].nodes);
  plan.segments[0].tasks = {{0, pieces}, {1, pieces}};
  plan.survives = 1;
  EXPECT_TRUE(verify(graph, plan, 2).ok());
  plan.survives = 2;
  EXPECT_FALSE(verify(graph, plan, 2).ok());
  plan.survives = 1;
  plan.segments[0].tasks.pop_back();
  const Status alone = verify(graph, plan, 2);
  EXPECT_EQ(alone.message(), "the plan cannot do without workers 0");
}

// A plan that says nothing of losses sends nothing twice, though workers repeat each other.
TEST(Survival, CostsNothingWhereItIsNotAskedFor) {
  Rng rng(3);
  Graph graph = random_network(rng);
  while (graph.nodes().size() < 2) graph = random_network(rng);
  Plan plan = random_plan(rng, graph, 4);
  const auto before = make_schedule(graph, plan)->transfers;
  plan = random_replicas(rng, plan, 1, 4);
  const size_t protected_count = make_schedule(graph, plan)->transfers.size();
  EXPECT_GT(protected_count, before.size());
  plan.survives = 0;
  EXPECT_LT(make_schedule(graph, plan)->transfers.size(), protected_count);
}

}  // namespace
}  // namespace shoal::plan
