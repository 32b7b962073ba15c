// The names of what a plot shows, each beside its colour.
#pragma once

#include <string>
#include <vector>

namespace shoal::page {

// Colours repeat after eight. Empty where there are no names. Names may be anybody's text.
std::string legend(const std::vector<std::string>& names);

}  // namespace shoal::page
