// Plans in words: the names of cuts and of wire formats, as flags take them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shoal/plan/search/planner.h"
#include "shoal/plan/search/wire_format.h"

namespace shoal::plan {

// "none", "rows", ...
std::vector<std::string> cut_names();
// Plans are then cut in this way wherever that can be done. REQUIRES: it is one of cut_names().
void force_cut(std::string_view name, PlanOptions& options);

// "f32", "f16", "int8".
std::vector<std::string> wire_format_names();
// REQUIRES: it is one of these.
WireFormat find_wire_format(std::string_view name);

}  // namespace shoal::plan
