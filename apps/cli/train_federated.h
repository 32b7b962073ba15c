// shoal train --federated: simulated clients learn one network, each from its own examples.
#pragma once

#include "cli.h"

namespace shoal::cli {

struct TrainFlags;

Outcome train_federated(const TrainFlags& flags);

}  // namespace shoal::cli
