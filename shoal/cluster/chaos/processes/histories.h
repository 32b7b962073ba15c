// Histories: runs of production workers and coordinators under faults, in virtual time, and the
// invariants that must hold in all of them (tests/simulation). They run in a separate program,
// which replaces functions of the C library. The same seed gives the same history.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/cluster/chaos/verdict.h"

namespace shoal::chaos {

struct Campaign {
  uint64_t histories = 0, violations = 0;
  int64_t first_bad_seed = -1;  // none
  std::string first_violation;
  // Requests that ended. Those of a killed coordinator are not counted.
  uint64_t requests = 0, answered = 0, failed = 0, replayed = 0;

  Verdict verdict() const { return Verdict::of_histories(first_bad_seed, first_violation); }
};

Facts facts_of(const Campaign& campaign);

struct HistoryOptions {
  uint64_t seed = 1, histories = 1;  // as many seeds from `seed` on
  uint64_t jobs = 1;                 // at once
  // Called now and then with the number of finished histories.
  std::function<void(uint64_t done)> at = nullptr;
  std::filesystem::path program = {};  // empty: shoal-simulation, where find_program() finds it
};

// Fails with kUnsupported if the program does not exist: builds with sanitizers have none.
Result<Campaign> live_through(const HistoryOptions& options);

}  // namespace shoal::chaos
