// Steps: a plan in the form that a simulation walks, with all durations worked out.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "shoal/plan/plan.h"
#include "shoal/plan/profile.h"

namespace shoal::plan {

// A resource that carries one message at a time: a machine's output, its input, a medium.
using Resource = size_t;

// The resources of one message, without a heap allocation: sender, receiver, and the media of both.
class Resources {
 public:
  void push_back(Resource resource) { list_[size_++] = resource; }
  const Resource* begin() const { return list_.data(); }
  const Resource* end() const { return list_.data() + size_; }

 private:
  std::array<Resource, 4> list_{};
  size_t size_ = 0;
};

// All that a worker waits for before a segment, or the coordinator at the end: an index into
// `awaited`.
using Slot = size_t;

struct TaskStep {
  size_t segment, task;
  Slot slot;
  double seconds;
  std::vector<size_t> sends;  // messages, once it is done
};

// Messages that need not all arrive: one of what several workers send, or of a code's members as
// many as there are data.
struct Group {
  Slot slot;
  size_t needed = 0;
  size_t data = 0;       // messages that are no parities
  bool is_code = false;  // so that it may be worth waiting for all data
};
inline constexpr size_t kNoGroup = static_cast<size_t>(-1);

struct Message {
  int from, to;
  Slot slot;       // of its reader
  double seconds;  // on the way, between radios that are awake, without latency
  double latency;
  double bytes;
  Resources uses;
  size_t group = kNoGroup;
  bool is_parity = false;
};

struct Steps {
  std::vector<std::vector<TaskStep>> tasks;  // by worker, in order
  std::vector<Message> messages;             // as in the schedule
  std::vector<size_t> inputs;                // messages that the coordinator starts with
  std::vector<Group> groups;                 // of a plan with redundancy
  std::vector<size_t> awaited;               // by slot: groups, and messages that are in none
  Slot answer = 0;                           // the coordinator's
  double wait_seconds = 0;                   // for data, before they are decoded
  bool forgets = false;  // workers need not go on with a request that is answered
};

// `seconds` are those of every segment's tasks.
Steps make_steps(const Graph& graph, const Plan& plan,
                 const std::vector<std::span<const double>>& seconds,
                 std::span<const Transfer> transfers, const ClusterProfile& cluster);
Steps make_steps(const Graph& graph, const Plan& plan, const Schedule& schedule,
                 const ClusterProfile& cluster);

// Time when a machine can receive a message sent at `now`, if it was last heard of at `heard`. The
// coordinator is awake: it began the request.
inline constexpr double kUnheard = -1e18;
double awake_at(const ClusterProfile& cluster, int machine, double now, double heard);

// The resources of a message between two machines, and the number of resources of a cluster.
Resources resources_of(const ClusterProfile& cluster, int from, int to);
size_t resource_count(const ClusterProfile& cluster);

}  // namespace shoal::plan
