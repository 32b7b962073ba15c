// What no scheduler exceeds: the scheduling problem of a day whose requests are known, in fractions
// [Han 2016].
#pragma once

#include <span>

#include "shoal/variants/scheduler/scheduler.h"

namespace shoal::schedule {

struct Bound {
  // Mean accuracy, weighted, if each variant is in memory for the share of the day that it answers:
  // the bound of [Han 2016], for schedulers that do not page. One that pages can exceed it.
  double without_paging = 0;
  // The same if paging costs nothing: no scheduler exceeds it.
  double free_paging = 0;
};

// Requests of a task form groups: with and without a link, and by how many share an input. Where
// fragments are shared, each user pays the part that it has to pay at least, so that it stays a
// bound. REQUIRES: check(catalog) is OK.
Bound bound_of(const Catalog& catalog, const Budgets& budgets, std::span<const Request> requests);

}  // namespace shoal::schedule
