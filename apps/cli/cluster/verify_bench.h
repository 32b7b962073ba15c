// shoal bench --cluster --survive R --verify P: what it costs to check requests for wrong results.
#pragma once

#include "cluster_bench.h"

namespace shoal::cli {

Outcome bench_verify(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
