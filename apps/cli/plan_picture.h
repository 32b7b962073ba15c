// A picture of a plan: for every worker a bar of what it computes and one of what it sends and
// receives, over time.
#pragma once

#include <string>

#include "planning.h"

namespace shoal::cli {

std::string to_svg(const Planned& planned);
std::string to_html(const Planned& planned);  // a page with the picture and what it shows

}  // namespace shoal::cli
