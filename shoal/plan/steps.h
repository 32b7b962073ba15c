// Steps: a plan as a simulation walks it, with the seconds of everything worked out.
#pragma once

#include <vector>

#include "shoal/plan/plan.h"
#include "shoal/plan/profile.h"

namespace shoal::plan {

// What only one message at a time may use: a machine's way out, its way in, a medium.
using Resource = size_t;

// What a worker waits for before a segment, or the coordinator at the end: an index into `awaited`.
using Slot = size_t;

struct TaskStep {
  size_t segment, task;
  Slot slot;
  double seconds;
  std::vector<size_t> sends;  // messages, once it is done
};

struct Message {
  int from, to;
  Slot slot;       // who awaits it
  double seconds;  // on the way, between radios that are awake, without latency
  double latency;
  double bytes;
  std::vector<Resource> uses;
};

struct Steps {
  std::vector<std::vector<TaskStep>> tasks;  // by worker, in order
  std::vector<Message> messages;             // as in the schedule
  std::vector<size_t> inputs;                // messages that the coordinator starts with
  std::vector<size_t> awaited;               // messages, by slot
  size_t answers = 0;                        // messages to the coordinator
};

Steps make_steps(const Graph& graph, const Plan& plan, const Schedule& schedule,
                 const ClusterProfile& cluster);

// What a message between two machines uses, and how many resources there can be.
std::vector<Resource> resources_of(const ClusterProfile& cluster, int from, int to);
size_t resource_count(const ClusterProfile& cluster);

}  // namespace shoal::plan
