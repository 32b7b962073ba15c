// What shrink() and tprune() found, for scripts as an object, and for people as a table and lines
// below it.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/shrink/prune/tprune.h"

namespace shoal::shrink {

// Of a run with these options. The object has the size of the file that was written; what is not
// known is null.
Json to_json(const ShrinkResult& result, const ShrinkOptions& options);
std::vector<Facts> rows_of(const ShrinkResult& result, const ShrinkOptions& options);
std::vector<std::string> lines_of(const ShrinkResult& result, const ShrinkOptions& options);

Json to_json(const TPruneResult& result);
std::vector<Facts> rows_of(const TPruneResult& result);
std::vector<std::string> lines_of(const TPruneResult& result);

}  // namespace shoal::shrink
