// The page about a smaller network: a comparison with its controls, widths before and after, and
// the layers that could not be reduced.
#pragma once

#include <string>

#include "shoal/shrink/prune/result.h"

namespace shoal::report {

// A self-contained page. `json` is the command's output for scripts, and `recipe` reproduces the
// run; both are shown verbatim. Texts are untrusted.
std::string shrink_page(const std::string& title, const shrink::ShrinkResult& result,
                        const std::string& json, const std::string& recipe);

}  // namespace shoal::report
