// Summary: the gain of spreading a network over several devices. The devices need not exist:
// profiles of common ones are built in (docs/reference/cluster.md).
//
//   SHOAL_ASSIGN(auto summary, plan::summarize(graph, {.workers = 4, .device = "pi4"}));
//   std::printf("%.1f times as fast as one\n", summary.speedup());
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::plan {

// Options: equal devices, and what they may do.
struct SummaryOptions {
  size_t workers = 4;              // how many devices there are
  std::string device = "pi4";      // their kind: one of device_names()
  std::string link = "gigabit";    // between them: one of link_names()
  int survive = 0;                 // number of devices that may be lost while they answer, 0 to 2
  std::vector<int> excluded = {};  // not to be used, by number
};

// The load of one device for one request.
struct WorkerSummary {
  std::string name;             // "pi4-0"
  double compute_seconds = 0;   // busy with its tasks
  double transfer_seconds = 0;  // sending and receiving
  double memory_bytes = 0;      // weights, and the values of its largest task
};

// Consecutive nodes that are spread over devices in one way.
struct SegmentSummary {
  std::string split;               // "rows over 4"
  std::vector<std::string> nodes;  // as messages call them
  std::vector<int> workers;        // by task
};

// The best plan of one kind.
struct KindSummary {
  std::string kind;
  double seconds = 0;
  std::string why_slower = {};  // than the best of all, in words; empty for that one
};

// Cost of surviving losses, against the best plan that survives none.
struct PriceSummary {
  double unprotected_seconds = 0;            // of a plan that survives none
  double repeated_seconds = 0;               // of that plan with everything repeated
  double compute = 1, repeated_compute = 1;  // multiples of that plan's products
  double wire_bytes = 0, memory_bytes = 0;   // more than without, over all devices
  size_t codes = 0;                          // layers that get parities
  // The fastest plan of those that compute at most 1.6 times as much for one loss, 2.2 for two; 0:
  // there is none.
  double bounded_seconds = 0, bounded_compute = 0;
};

// Traffic of sparse fully-connected layers that are computed by clusters.
struct ClusterSummary {
  int64_t bytes = 0;
  int64_t dense_bytes = 0;  // if they were split as dense layers are
};

// The best plan that was found, as predicted.
struct Summary {
  std::string model = {};              // its name; empty: not known
  std::string kind;                    // how the network is split: "rows", "one worker"
  double seconds = 0;                  // from the request to the answer
  double single_seconds = 0;           // the same on the best device alone
  double wire_bytes = 0;               // that travel between devices
  int64_t halo_bytes = 0;              // part of them that several devices read
  size_t messages = 0;                 // number of messages that carry them
  double error = 0;                    // by rounding on the wire: a part of the largest element
  int survives = 0;                    // number of devices that may be lost
  std::vector<WorkerSummary> workers;  // one for each device
  std::vector<SegmentSummary> segments = {};
  std::vector<KindSummary> kinds = {};          // that were compared, the best first
  std::optional<PriceSummary> price = {};       // of a plan that survives losses
  std::optional<ClusterSummary> clusters = {};  // of a plan that has some
  std::string advice = {};                      // whether all devices are of use, in words
  std::string text;                             // the plan as text: the tasks of each worker

  // How many times as fast as one device alone.
  double speedup() const { return single_seconds / seconds; }
};

// Plans and simulates, which takes seconds for large networks. kInvalidArgument for an unknown
// device or link (the message lists the known ones), an excluded worker that does not exist, and
// too few workers to survive the losses.
Result<Summary> summarize(const Graph& graph, const SummaryOptions& options = {});

// One JSON object: what `shoal plan --json` prints (docs/reference/commands/plan.md).
std::string to_json(const Summary& summary);

// The profiles that are built in.
std::vector<std::string_view> device_names();
std::vector<std::string_view> link_names();

}  // namespace shoal::plan

#pragma GCC visibility pop
