// What holds of every plan carried out in virtual time.
#include "shoal/plan/cost/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "random_plan.h"
#include "shoal/plan/cost/steps.h"

namespace shoal::plan {
namespace {

constexpr double kRounding = 1e-12;

// A plan for `seed`, simulated.
struct Case {
  Rng rng;
  Graph graph;
  int workers;
  Plan plan;
  Schedule schedule;
  ClusterProfile cluster;
  Timeline line;

  explicit Case(unsigned seed)
      : rng(seed),
        graph(random_network(rng)),
        workers(static_cast<int>(draw(rng, 1, 6))),
        plan(random_plan(rng, graph, workers)),
        schedule(*make_schedule(graph, plan)),
        cluster(random_cluster(rng, workers)),
        line(simulate(graph, plan, schedule, cluster)) {}
};

void expect_one_at_a_time(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  for (size_t i = 1; i < spans.size(); ++i) {
    ASSERT_GE(spans[i].begin + kRounding, spans[i - 1].end);
  }
}

TEST(Simulation, LetsNothingBeInTwoPlacesAtOnce) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c(seed);
    std::map<int, std::vector<Span>> computing;
    for (size_t s = 0; s < c.plan.segments.size(); ++s) {
      for (size_t t = 0; t < c.plan.segments[s].tasks.size(); ++t) {
        computing[c.plan.segments[s].tasks[t].worker].push_back(c.line.tasks[s][t]);
      }
    }
    for (const auto& [worker, spans] : computing) expect_one_at_a_time(spans);
    const Steps steps = make_steps(c.graph, c.plan, c.schedule, c.cluster);
    std::map<Resource, std::vector<Span>> in_use;
    for (size_t i = 0; i < steps.messages.size(); ++i) {
      Span span = c.line.transfers[i];
      span.end -= steps.messages[i].latency;
      for (Resource resource : steps.messages[i].uses) in_use[resource].push_back(span);
    }
    for (const auto& [resource, spans] : in_use) expect_one_at_a_time(spans);
  }
}

TEST(Simulation, LetsNothingComeBeforeItsCause) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c(seed);
    double last = 0;
    for (size_t i = 0; i < c.schedule.transfers.size(); ++i) {
      const Transfer& transfer = c.schedule.transfers[i];
      const Span& sent = c.line.transfers[i];
      if (transfer.to == kCoordinator) last = std::max(last, sent.end);
      for (size_t s = 0; s < c.plan.segments.size(); ++s) {
        for (size_t t = 0; t < c.plan.segments[s].tasks.size(); ++t) {
          const Task& task = c.plan.segments[s].tasks[t];
          const Span& computed = c.line.tasks[s][t];
          if (task.worker == transfer.to && s == transfer.segment) {
            EXPECT_GE(computed.begin, sent.end);
          }
          for (const Piece& piece : task.outputs) {
            const bool makes = task.worker == transfer.from &&
                               piece.value == transfer.piece.value &&
                               !is_empty(intersection(piece.region, transfer.piece.region));
            EXPECT_TRUE(!makes || sent.begin >= computed.end);
          }
        }
      }
    }
    EXPECT_EQ(c.line.seconds, last);
  }
}

// One request of a stream is what it is alone; several at a time take no longer than one by one,
// and no worker can do more than compute all the time.
TEST(Simulation, OverlapsRequestsOfAStream) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c(seed);
    if (c.graph.nodes().empty()) continue;
    c.cluster.keep_awake = true;
    const ScheduledPlan turn = *ScheduledPlan::make(c.graph, c.plan);
    const auto run = [&](size_t requests, size_t in_flight) {
      return simulate_stream(std::span(&turn, 1), c.cluster, requests, in_flight);
    };
    const double alone = simulate(c.graph, c.plan, c.schedule, c.cluster).seconds;
    EXPECT_DOUBLE_EQ(run(1, 1).answered[0], alone);
    const Stream one_by_one = run(10, 1), together = run(10, 4);
    EXPECT_LE(one_by_one.answered.back(), 10 * alone + kRounding);
    EXPECT_LE(together.answered.back(), one_by_one.answered.back() + kRounding);
    for (double seconds : together.compute_seconds) {
      EXPECT_LE(seconds, together.answered.back() + kRounding);
    }
  }
}

// What a picture of a stream shows is the stream: the same answers, the same seconds in all.
TEST(Simulation, OfRequestsAddsUpToTheirStream) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c(seed);
    if (c.graph.nodes().empty()) continue;
    Rng rng(seed);
    const Plan other = random_plan(rng, c.graph, static_cast<int>(c.cluster.workers.size()));
    const std::vector<ScheduledPlan> turns = {*ScheduledPlan::make(c.graph, c.plan),
                                              *ScheduledPlan::make(c.graph, other)};
    const auto lines = simulate_requests(turns, c.cluster, 7, 3);
    const Stream stream = simulate_stream(turns, c.cluster, 7, 3);
    std::vector<double> answered, computed(c.cluster.workers.size());
    for (const Timeline& line : lines) {
      answered.push_back(line.seconds);
      for (size_t w = 0; w < computed.size(); ++w) computed[w] += line.compute_seconds[w];
    }
    std::ranges::sort(answered);
    EXPECT_EQ(answered, stream.answered);
    for (size_t w = 0; w < computed.size(); ++w) {
      EXPECT_NEAR(computed[w], stream.compute_seconds[w], 1e-9);
    }
  }
}

TEST(Timeline, MeasuresSegmentsAndTasks) {
  Timeline line;
  line.seconds = 10;
  line.tasks = {{{1, 3}, {2, 5}, {0, 0}}, {{6, 9}}, {{0, 0}}};
  EXPECT_EQ(line.segment_seconds(0), 4) << "a task that was not needed did not begin at 0";
  EXPECT_EQ(line.segment_seconds(1), 3);
  EXPECT_EQ(line.segment_seconds(2), 0);
  EXPECT_EQ(line.longest_task(0), 3);
  EXPECT_EQ(line.longest_task(2), 0);
  EXPECT_EQ(line.longest_task(), 3);
}

}  // namespace
}  // namespace shoal::plan
