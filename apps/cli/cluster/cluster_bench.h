// shoal bench --cluster: a plan on real workers, beside the best of them alone and beside what was
// predicted.
#pragma once

#include "../cli.h"
#include "../planning.h"

namespace shoal::cli {

struct ClusterBenchFlags {
  PlanFlags plan;
  double seconds = 3;
  bool json = false;
  std::string html;  // a file for a picture of what was measured
  bool balance = false;
  double stragglers = 1;  // times that one worker, another for every request, is slower
};

Outcome bench_cluster(const ClusterBenchFlags& flags);

// What the best plan and the best worker alone took, in the time of the workers' world.
struct ClusterFigures {
  plan::Timeline single, many;  // of the request in the middle
  size_t rounds = 0;
};

// kExhausted where this machine was too busy to be so many emulated devices.
class ClusterAccess;
Result<ClusterFigures> measure(ClusterAccess& access, const Planned& planned, double seconds);

}  // namespace shoal::cli
