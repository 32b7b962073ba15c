// A picture of a plan: for every worker a bar of what it computes and one of what it sends and
// receives, over time; of a stream, for the first few requests.
#pragma once

#include <string>

#include "planning.h"
#include "streaming.h"

namespace shoal::cli {

std::string to_svg(const Planned& planned);
std::string to_svg(const PlannedStream& planned);
std::string to_html(const Planned& planned);  // a page with the picture and what it shows
std::string to_html(const PlannedStream& planned);

}  // namespace shoal::cli
