// Chooses the units to remove to meet a time. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/latency/latency_table.h"

namespace shoal::shrink {

// What goes first.
enum class Order : uint8_t {
  kPerMillisecond,  // what is worth least for the time that it saves
  kWorth,           // what is worth least
};

// The units to remove, `gone` included, for table.ms() to be at most `most_ms`; one of each group
// stays. Times rise in stairs, so a group shrinks to the end of a step, the best ratio of time to
// worth first; in the end everything that still fits comes back. So the next larger width of any
// group would take longer. kUnsupported, naming the least time found, if the time cannot be met.
// REQUIRES: `worth` has one number per unit, none below zero; the table is for these groups.
Result<std::vector<size_t>> choose_by_time(const compress::Groups& groups,
                                           std::span<const double> worth, const LatencyTable& table,
                                           double most_ms, std::span<const size_t> gone = {},
                                           Order order = Order::kPerMillisecond);

// The same for table.exact_ms(), if the table has it: repeats the choice with a corrected
// table.scale. If the time is not met after some tries, returns the last choice. Fails as
// choose_by_time() and exact_ms() do.
Result<std::vector<size_t>> choose_by_exact_time(const compress::Groups& groups,
                                                 std::span<const double> worth, LatencyTable& table,
                                                 double most_ms, std::span<const size_t> gone = {},
                                                 Order order = Order::kPerMillisecond);

}  // namespace shoal::shrink
