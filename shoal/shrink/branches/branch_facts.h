// What branches are worth, for scripts as an object, and for people as a table and lines below it.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/shrink/branches/branch_report.h"

namespace shoal::branch {

// What was not predicted or not learned is not in it.
Json to_json(const BranchReport& report);
std::vector<Facts> rows_of(const BranchReport& report);
// The last of them are advice().
std::vector<std::string> lines_of(const BranchReport& report);

}  // namespace shoal::branch
