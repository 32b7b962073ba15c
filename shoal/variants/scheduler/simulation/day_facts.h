// Catalogs of tasks and simulated days, as facts.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/variants/scheduler/simulation/days.h"

namespace shoal::schedule {

Facts facts_of(const DaysReport& days);

// The options of all tasks, as rows; with `days`, those that answered, and how often.
std::vector<Facts> option_rows(const Catalog& catalog, const DaysReport* days = nullptr);
// The same for scripts, task by task.
Json tasks_json(const Catalog& catalog, const DaysReport* days = nullptr);

}  // namespace shoal::schedule
