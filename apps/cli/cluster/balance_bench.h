// shoal bench --cluster --objective throughput --balance: from layers dealt out evenly, work is
// moved while requests are answered.
#pragma once

#include "cluster_bench.h"

namespace shoal::cli {

Outcome bench_balance(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
