// History: one run of a simulated cluster under faults, and the invariants that must hold in all
// runs. The same seed gives the same history.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/cluster/chaos/verdict.h"

namespace shoal::chaos {

struct History {
  uint64_t hash = 0;      // of all that happened
  std::string violation;  // empty: none
  int requests = 0, answered = 0, failed = 0, replayed = 0;
};

// Every request ends exactly once: with the right answer of one version of the model, or with an
// error that is worth another try.
History live_through(uint64_t seed);

struct Campaign {
  uint64_t histories = 0, violations = 0;
  int64_t first_bad_seed = -1;  // none
  std::string first_violation;
  uint64_t requests = 0, answered = 0, failed = 0, replayed = 0;

  Campaign& operator+=(const Campaign& later);
  Verdict verdict() const { return Verdict::of_histories(first_bad_seed, first_violation); }
};

Facts facts_of(const Campaign& campaign);

// Runs the histories of `histories` seeds from `seed` on. `at` is told how many are done.
Campaign live_through(uint64_t seed, uint64_t histories,
                      const std::function<void(uint64_t done)>& at = nullptr);

}  // namespace shoal::chaos
