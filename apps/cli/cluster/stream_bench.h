// shoal bench --cluster --objective throughput: how many answers a second, with several requests on
// their way at once.
#pragma once

#include "cluster_bench.h"

namespace shoal::cli {

Outcome bench_stream(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
