// shoal chaos --train: what becomes of training while workers, or the hub, are killed.
#pragma once

#include <cstdint>
#include <string>

#include "../cli.h"

namespace shoal::cli {

struct ChaosTrainFlags {
  std::string model;
  std::string codec = "f32";
  size_t workers = 0, kills = 0;
  uint64_t seed = 1, histories = 0;
  bool json = false;
};

// Worker processes of this machine.
Outcome train_on_processes(const ChaosTrainFlags& flags);
// Simulated runs, in virtual time.
Outcome train_in_histories(const ChaosTrainFlags& flags);

}  // namespace shoal::cli
