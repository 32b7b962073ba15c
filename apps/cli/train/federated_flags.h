// The flags of shoal train --federated, and the options they stand for.
#pragma once

#include <cstdint>
#include <string>

#include "apps/flags/flags.h"
#include "shoal/federated/simulation.h"

namespace shoal::cli {

struct FederatedFlags {
  bool given = false;
  federated::Options options = {.population = {.stragglers = 0.9}};  // what needs no reading
  std::string strategy = "fedavg", split = "classes";
  float mu = -1;        // negative: the strategy's
  double deadline = 0;  // 0: none
  int64_t epochs = 10;

  void add_to(Command& command);
  // All options. Local steps are those of the scenario of FedProx (batches of 10, SGD without
  // momentum at a constant rate of 0.03), but for the flags that were given.
  federated::Options resolve(fit::TrainingOptions fit) const;

 private:
  bool was_given(const std::string& flag) const { return command_->count(flag) > 0; }

  Command* command_ = nullptr;  // to ask which flags were given
};

}  // namespace shoal::cli
