// Simulation: plans carried out in virtual time. The planner's predictions come from here.
//
// A worker computes one task at a time: its tasks of one request in order, and of several requests
// the earliest that can go on. A machine sends one message at a time and receives one at a time,
// and the machines of one medium take turns; a message starts as soon as it can. In a plan with
// redundancy, readers go on with what comes first, and workers drop requests that are answered.
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/cost/steps.h"
#include "shoal/plan/plan.h"

namespace shoal::plan {

struct Span {
  double begin = 0;
  double end = 0;
};

struct Timeline {
  double seconds = 0;                    // until the coordinator has the answer
  std::vector<std::vector<Span>> tasks;  // by segment and task; empty if it was not needed
  std::vector<Span> transfers;           // as in the schedule; before 0: it was not needed
  std::vector<double> compute_seconds;   // by worker
  std::vector<double> transfer_seconds;  // by worker, sending and receiving
  double wire_bytes = 0;

  // From the begin of a segment's first task to the end of its last; tasks that were not needed do
  // not count.
  double segment_seconds(size_t segment) const;
  double longest_task(size_t segment) const;  // in seconds
  double longest_task() const;                // of all segments
};

Timeline simulate(const Graph& graph, const Plan& plan, const Schedule& schedule,
                  const ClusterProfile& cluster);

// Time of the answer alone, for callers that compare many plans.
double answer_seconds(const Steps& steps, const ClusterProfile& cluster);

// Requests that follow each other without a pause.
struct Stream {
  std::vector<double> answered;          // when, in order
  std::vector<double> latencies;         // by request
  std::vector<double> compute_seconds;   // by worker
  std::vector<double> transfer_seconds;  // by worker, sending and receiving
  double wire_bytes = 0;

  // In the long run: the first half of the requests only fills the workers.
  double requests_per_second() const;
};

// Stragglers: in every request, one worker at random takes `times` times as long.
struct Stragglers {
  unsigned seed = 0;
  double times = 1;
};

// Request r is computed by turns[r % size]. There are never more than `in_flight` on their way.
Stream simulate_stream(std::span<const ScheduledPlan> turns, const ClusterProfile& cluster,
                       size_t requests, size_t in_flight, const Stragglers& stragglers = {});

// The same, request by request; all times are those since the first began.
std::vector<Timeline> simulate_requests(std::span<const ScheduledPlan> turns,
                                        const ClusterProfile& cluster, size_t requests,
                                        size_t in_flight);

}  // namespace shoal::plan
