// What exits are worth, for scripts as an object, and for people as a table and a line below it.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/shrink/exits/learning/add_exits.h"

namespace shoal::exits {

Json to_json(const ExitsResult& result);
// A row for each exit, and one for the last classifier.
std::vector<Facts> rows_of(const ExitsResult& result);
std::vector<std::string> lines_of(const ExitsResult& result);

}  // namespace shoal::exits
