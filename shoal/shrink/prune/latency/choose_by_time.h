// The choice under a time: which units to give up so that a run takes no longer than wanted. Pure.
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

// The units to remove, those in `gone` among them, so that table.ms() is at most `most_ms`; one of
// each group stays. Times rise in stairs, so a group goes down to where a step ends, as far as its
// time falls most for what is lost; at last everything comes back that there is still time for. So
// no group is left with a width whose next larger one would take no longer. Fails with
// kUnsupported, naming the least time found, if the time cannot be met. REQUIRES: `worth` has one
// number per unit, none below zero; the table is one of these groups.
Result<std::vector<size_t>> choose_by_time(const compress::Groups& groups,
                                           std::span<const double> worth, const LatencyTable& table,
                                           double most_ms, std::span<const size_t> gone = {},
                                           Order order = Order::kPerMillisecond);

// The same so that table.exact_ms() is at most, and nearly, `most_ms`, where the table has it: the
// choice is repeated with table.scale corrected by what it says. Where it is not met after some
// tries, the last one's. Fails as choose_by_time() and exact_ms() do.
Result<std::vector<size_t>> choose_by_exact_time(const compress::Groups& groups,
                                                 std::span<const double> worth, LatencyTable& table,
                                                 double most_ms, std::span<const size_t> gone = {},
                                                 Order order = Order::kPerMillisecond);

}  // namespace shoal::shrink
