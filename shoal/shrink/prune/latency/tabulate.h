// Tabulation: a LatencyTable from the times of networks that are the given one without random
// units. All steps are timed in place, with the caches, layouts and kernels they have there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/profile.h"
#include "shoal/plan/search/wire_format.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/latency/latency_table.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::shrink {

// StepTimer: gives the times of a network's steps on a device. One measures, others compute from a
// profile.

// The time of one value of a network.
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
  int64_t block = 1;  // channels that the device computes at once: times rise in steps of this size
};

// The time of one run. REQUIRES: the network is as passes::optimize leaves it.
using StepTimer = std::function<Result<NetworkTime>(const Graph& network)>;

// Runs networks on the device for this time each, interleaved with the yardstick, which cancels
// slow phases of the machine: times are as of when the timer was made. Fails as the device does;
// kUnsupported if it gives no times of nodes. `device` outlives the result, which is not
// thread-safe.
Result<StepTimer> timer_on(Device& device, const Graph& yardstick, double seconds = 0.02);

// Steps are nodes, timed by the profile.
StepTimer timer_by(plan::WorkerProfile profile);

// Steps are nodes of the best plan for these workers, in virtual time. The time between the ends of
// two segments, messages included, is shared among its nodes in proportion to their own times, so
// that what a plan waits for is what removal saves. The first networks are planned in full; later
// ones with the same nodes take the best known plan, rescaled to their widths (plan/rescale.h), in
// milliseconds. Messages are in fewer bytes as `wire` allows. The result is not thread-safe.
StepTimer timer_by_plan(plan::ClusterProfile cluster, plan::WireOptions wire = {});

// How thoroughly to look.
struct TableOptions {
  size_t networks = 150;  // to time besides the whole one
  uint64_t seed = 1;      // what they lack
};

// A network that was timed.
struct TimedNetwork {
  Kept kept;
  NetworkTime time;
};

// Units to remove to leave each group a random number of units at a knot, for blocks of `block`
// channels. Pure.
std::vector<size_t> drawn_units(const compress::Groups& groups, uint64_t seed, int64_t block);

// The table that the times give; `networks` have lost units of `groups`, which are those of the
// graph. Pure. REQUIRES: there are networks.
LatencyTable table_of(const Graph& graph, const compress::Groups& groups,
                      std::span<const TimedNetwork> networks);

// Times networks and makes the table. Fails as compress::remove() and the timer do.
Result<LatencyTable> tabulate(const Graph& graph, const compress::Groups& groups,
                              const StepTimer& timer, const TableOptions& options = {});

// The table for options.device; if that is empty, for `runs`, scaled to the network's own time
// there if options.measure_seconds permits a measurement. Fails as tabulate(), the device and
// plan::find_device() do. REQUIRES: `groups` are those of the network for one example.
Result<LatencyTable> table_for(const NetworkForBatch& network, const compress::Groups& groups,
                               const ShrinkOptions& options, Device& runs,
                               const TableOptions& table_options = {});

}  // namespace shoal::shrink
