// shoal train --cluster: the workers of a cluster learn one network together.
#pragma once

#include "cli.h"

namespace shoal::cli {

struct TrainFlags;

Outcome train_on_cluster(const TrainFlags& flags);

}  // namespace shoal::cli
