// Facts of results (shoal/base/facts.h), printed: tables for people, or JSON for scripts.
#pragma once

#include <vector>

#include "apps/flags/json.h"
#include "shoal/base/facts.h"
#include "table.h"

namespace shoal::cli {

// A row for each. The columns are those of the first or, where there is none, these. REQUIRES: all
// rows have the same columns.
Table table_of(const std::vector<Facts>& rows, std::vector<std::string> columns = {});

// One row, or one object.
void print_facts(const Facts& facts, bool json);

}  // namespace shoal::cli
