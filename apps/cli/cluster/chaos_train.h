// shoal chaos --train: training while workers, or the hub, are killed.
#pragma once

#include "../exit_codes.h"
#include "apps/cluster_commands/chaos.h"
#include "shoal/cluster/chaos/verdict.h"

namespace shoal::cli {

// Worker processes of this machine.
Outcome train_on_processes(const chaos::ChaosSettings& settings, bool json);
// Simulated runs, in virtual time.
Outcome train_in_histories(const chaos::ChaosSettings& settings, bool json);

inline Outcome outcome_of(const chaos::Verdict& verdict) {
  using Kind = chaos::Verdict::Kind;
  if (verdict.kind == Kind::kKept) return {};
  return {verdict.kind == Kind::kWrong ? Exit::kAccuracy : Exit::kNetwork, verdict.why};
}

}  // namespace shoal::cli
