// Results of simulations, read off the simulated requests (simulation.h).
#include "shoal/plan/cost/simulate.h"

#include <algorithm>

#include "shoal/plan/cost/simulation.h"

namespace shoal::plan {
namespace {

// Adds the time that each worker's link is in use. Latency is not use: others may send meanwhile.
void add_transfers(const SimulatedRequest& request, std::vector<double>& seconds, double& bytes) {
  for (size_t i = 0; i < request.sent.size(); ++i) {
    if (request.sent[i].end < 0) continue;
    const Message& message = request.steps->messages[i];
    bytes += message.bytes;
    for (int worker : {message.from, message.to}) {
      if (worker < 0) continue;
      seconds[static_cast<size_t>(worker)] +=
          request.sent[i].end - request.sent[i].begin - message.latency;
    }
  }
}

Timeline timeline_of(const SimulatedRequest& request, const Plan& plan) {
  // Tasks that a worker never began, because the answer was there before, keep an empty span.
  const auto& tasks = request.steps->tasks;  // by worker
  Timeline line;
  line.seconds = request.answered;
  line.transfers = request.sent;
  line.compute_seconds.resize(tasks.size());
  line.transfer_seconds.resize(tasks.size());
  for (const Segment& segment : plan.segments) line.tasks.emplace_back(segment.tasks.size());
  for (size_t w = 0; w < tasks.size(); ++w) {
    for (size_t i = 0; i < request.computed[w].size(); ++i) {
      const TaskStep& task = tasks[w][i];
      line.tasks[task.segment][task.task] = request.computed[w][i];
      line.compute_seconds[w] += task.seconds;
    }
  }
  add_transfers(request, line.transfer_seconds, line.wire_bytes);
  return line;
}

std::vector<Steps> steps_of(std::span<const ScheduledPlan> turns, const ClusterProfile& cluster) {
  std::vector<Steps> steps;
  for (const ScheduledPlan& turn : turns) {
    steps.push_back(make_steps(turn.graph(), turn.plan(), turn.schedule(), cluster));
  }
  return steps;
}

}  // namespace

Timeline simulate(const Graph& graph, const Plan& plan, const Schedule& schedule,
                  const ClusterProfile& cluster) {
  const Steps steps = make_steps(graph, plan, schedule, cluster);
  return timeline_of(Simulation(cluster, std::span(&steps, 1), 1, 1).run()[0], plan);
}

double answer_seconds(const Steps& steps, const ClusterProfile& cluster) {
  return Simulation(cluster, std::span(&steps, 1), 1, 1).run()[0].answered;
}

double Timeline::segment_seconds(size_t segment) const {
  Span all;
  for (const Span& task : tasks[segment]) {
    if (task.end == 0) continue;
    all.begin = all.end == 0 ? task.begin : std::min(all.begin, task.begin);
    all.end = std::max(all.end, task.end);
  }
  return all.end - all.begin;
}

double Timeline::longest_task(size_t segment) const {
  double longest = 0;
  for (const Span& task : tasks[segment]) longest = std::max(longest, task.end - task.begin);
  return longest;
}

double Timeline::longest_task() const {
  double longest = 0;
  for (size_t s = 0; s < tasks.size(); ++s) longest = std::max(longest, longest_task(s));
  return longest;
}

double Stream::requests_per_second() const {
  // The first half fills the pipeline; its answers would count the latency as throughput.
  const size_t half = answered.size() / 2;
  if (half == 0) return answered.empty() ? 0 : 1 / answered[0];
  return static_cast<double>(answered.size() - half) / (answered.back() - answered[half - 1]);
}

Stream simulate_stream(std::span<const ScheduledPlan> turns, const ClusterProfile& cluster,
                       size_t requests, size_t in_flight, const Stragglers& stragglers) {
  const std::vector<Steps> steps = steps_of(turns, cluster);
  Stream stream;
  stream.compute_seconds.resize(cluster.workers.size());
  stream.transfer_seconds.resize(cluster.workers.size());
  for (const SimulatedRequest& request :
       Simulation(cluster, steps, requests, in_flight, stragglers).run()) {
    stream.answered.push_back(request.answered);
    stream.latencies.push_back(request.answered - request.released);
    add_transfers(request, stream.transfer_seconds, stream.wire_bytes);
    for (size_t w = 0; w < request.computed.size(); ++w) {
      for (const Span& span : request.computed[w]) {
        stream.compute_seconds[w] += span.end - span.begin;
      }
    }
  }
  std::ranges::sort(stream.answered);
  return stream;
}

std::vector<Timeline> simulate_requests(std::span<const ScheduledPlan> turns,
                                        const ClusterProfile& cluster, size_t requests,
                                        size_t in_flight) {
  const std::vector<Steps> steps = steps_of(turns, cluster);
  std::vector<Timeline> lines;
  for (const SimulatedRequest& request : Simulation(cluster, steps, requests, in_flight).run()) {
    lines.push_back(timeline_of(request, turns[lines.size() % turns.size()].plan()));
  }
  return lines;
}

}  // namespace shoal::plan
