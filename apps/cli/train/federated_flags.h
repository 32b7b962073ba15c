// The flags of shoal train --federated, and the options they stand for.
#pragma once

#include "apps/flags/flags.h"
#include "shoal/federated/scenario.h"

namespace shoal::cli {

struct FederatedFlags : federated::ScenarioSettings {
  bool given = false;
  bool secure_sum = false;
  double secure_range = 1;
  size_t least = 1;  // on workers: reports of a round

  void add_to(Command& command);
  // All options, with local steps as the scenario has them, but for the flags that were given.
  federated::Options resolve(fit::TrainingOptions fit) const;
  // kInvalidArgument for flags of simulated clients where clients are workers.
  Status check_for_workers() const;

 private:
  Command* command_ = nullptr;  // to ask which flags were given
};

}  // namespace shoal::cli
