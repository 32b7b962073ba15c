// shoal bench --cluster --while-deploying: requests while the weights of another model travel.
#pragma once

#include "cluster_bench.h"

namespace shoal::cli {

Outcome bench_deployment(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
