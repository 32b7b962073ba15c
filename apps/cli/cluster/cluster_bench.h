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
};

Outcome bench_cluster(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
