// shoal bench --cluster --survive R --stragglers TIMES: what it saves to go on with the first that
// are enough, where one worker is slow.
#pragma once

#include "cluster_bench.h"

namespace shoal::cli {

Outcome bench_stragglers(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
