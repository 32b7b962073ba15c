// Choice: what a run of shrink() decided to remove, as it is kept for a run that goes on later.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "shoal/shrink/compress/factors/rank_front.h"

namespace shoal::shrink {

// Units that go. A value.
struct Removal {
  std::vector<size_t> units = {};  // of the groups of the network for one example, by number
  // How long a run for one example takes without them where the network will run, by a latency
  // table; nothing: there is none.
  std::optional<double> ms = {};
  // In place of units, for methods that factorise: the ranks of each layer that could be, 0 for one
  // that stays (factor_layers.h). Empty: all stay.
  std::vector<compress::Ranks> ranks = {};

  friend bool operator==(const Removal&, const Removal&) = default;
};

// A value.
struct Choice {
  std::vector<size_t> blocks = {};  // residual blocks that go in every round, and before it
  // What is gone after each round on the way to the target: the last one meets it, those before are
  // milder. Not empty.
  std::vector<Removal> rounds = {};
  std::optional<double> before_ms = {};  // Removal::ms without any removal

  friend bool operator==(const Choice&, const Choice&) = default;
};

// What to remove instead, if the last round loses `drop` points and no more than `most` may be
// lost: an earlier round, of fewer units. Accuracy falls ever faster from round to round, so that
// the line from no removal to the last one is on the safe side. Where `drop` is not above `most`,
// it says nothing of what went wrong, and half of the rounds it is. Null: nothing. Pure; points
// into `choice`. REQUIRES: there are rounds, and most >= 0.
const Removal* milder(const Choice& choice, double drop, double most);

}  // namespace shoal::shrink
