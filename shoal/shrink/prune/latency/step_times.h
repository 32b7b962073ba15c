// StepTimer: what says how long the steps of a network take on a device. One measures, another one
// reckons by a device's profile; a table of latencies is made from either.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/profile.h"
#include "shoal/plan/search/wire_format.h"

namespace shoal::shrink {

// All that a device does to have one value of a network.
struct StepTime {
  std::string value;               // by name
  std::vector<std::string> reads;  // values that it needs for that, weights apart; each once
  std::string kind;                // what it does: steps of one kind on equal types are alike
  double ms = 0;
};

// A run of a network. What is spent in no step counts only for the whole.
struct NetworkTime {
  std::vector<StepTime> steps;
  double ms = 0;
  int64_t block = 1;  // channels that the device computes at once: times rise in stairs of so many
};

// The time of one run. REQUIRES: the network is as passes::optimize leaves it.
using StepTimer = std::function<Result<NetworkTime>(const Graph& network)>;

// Runs networks on the device for so long each, in turns with the yardstick: a machine that is
// slower for a while is slower for both, and times are given as if it were as fast as when the
// timer was made. Fails as the device does, and with kUnsupported if it gives no times of nodes.
// `device` outlives the result, which is not thread-safe.
Result<StepTimer> timer_on(Device& device, const Graph& yardstick, double seconds = 0.02);

// A node is a step, and takes as long as the profile says.
StepTimer timer_by(plan::WorkerProfile profile);

// A node is a step of the best plan for these workers, in virtual time. From the end of one segment
// to that of the next is the time of its nodes, messages included, shared in proportion to what
// they take alone. So what a plan waits for, computing or sending, is what removal saves. The first
// networks are planned in full; later ones of the same nodes take the best of the plans that are
// known by then, carried over to their widths (plan/rescale.h), which takes milliseconds. Messages
// are in fewer bytes as `wire` allows. The result is not thread-safe.
StepTimer timer_by_plan(plan::ClusterProfile cluster, plan::WireOptions wire = {});

}  // namespace shoal::shrink
