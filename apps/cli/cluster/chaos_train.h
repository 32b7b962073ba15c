// shoal chaos --train: what becomes of training while workers, or the hub, are killed.
#pragma once

#include <cstdint>
#include <string>

#include "../exit_codes.h"
#include "shoal/chaos/verdict.h"

namespace shoal::cli {

struct ChaosTrainFlags {
  std::string model;
  std::string codec = "f32";
  size_t workers = 0, kills = 0;
  uint64_t seed = 1;
  bool json = false;
};

// Worker processes of this machine.
Outcome train_on_processes(const ChaosTrainFlags& flags);
// So many simulated runs, in virtual time.
Outcome train_in_histories(const ChaosTrainFlags& flags, uint64_t histories);

inline Outcome outcome_of(const chaos::Verdict& verdict) {
  using Kind = chaos::Verdict::Kind;
  if (verdict.kind == Kind::kKept) return {};
  return {verdict.kind == Kind::kWrong ? Exit::kAccuracy : Exit::kNetwork, verdict.why};
}

}  // namespace shoal::cli
