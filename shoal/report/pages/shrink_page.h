// The page about a smaller network: it beside its controls, widths before and after, what could not
// be removed.
#pragma once

#include <string>

#include "shoal/shrink/prune/result.h"

namespace shoal::report {

// HTML that needs no other file. `json` is what the command prints for scripts, and `recipe` what
// repeats the run; both are shown as they are. Texts may be anybody's.
std::string shrink_page(const std::string& title, const shrink::ShrinkResult& result,
                        const std::string& json, const std::string& recipe);

}  // namespace shoal::report
