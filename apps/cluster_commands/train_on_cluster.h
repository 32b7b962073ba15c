// shoal train --cluster: the rows and JSON fields of a run.
#pragma once

#include "shoal/base/text/facts.h"
#include "shoal/cluster/training/train_cluster.h"

namespace shoal::train_cluster {

// The work of each device, for scripts.
Json to_json(const learn::RunRecord& record);

// `local_steps` as in Options.
Facts facts_of(const Figures& figures, int64_t local_steps);

}  // namespace shoal::train_cluster
