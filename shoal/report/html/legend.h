// The legend of a plot: names beside their colours.
#pragma once

#include <string>
#include <vector>

namespace shoal::page {

// Colours repeat after eight. Empty if there are no names. Names are untrusted text.
std::string legend(const std::vector<std::string>& names);

}  // namespace shoal::page
