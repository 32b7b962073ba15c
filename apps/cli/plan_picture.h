// A picture of a plan: for every worker a bar of what it computes and one of what it sends and
// receives, over time; of a stream, for the first few requests.
#pragma once

#include <string>
#include <vector>

#include "planning.h"
#include "streaming.h"

namespace shoal::cli {

std::string to_svg(const Planned& planned);
std::string to_svg(const PlannedStream& planned);
std::string to_html(const Planned& planned);  // a page with the picture and what it shows
std::string to_html(const PlannedStream& planned);
// The picture of one plan for these workers, as a part of a page.
std::string picture_in_page(const std::string& title, const std::vector<std::string>& workers,
                            const plan::Prediction& made);

}  // namespace shoal::cli
