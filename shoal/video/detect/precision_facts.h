// Average precision, for scripts and for people.
#pragma once

#include <string>

#include "shoal/base/text/json.h"
#include "shoal/video/detect/head.h"
#include "shoal/video/detect/precision.h"

namespace shoal::detect {

// For images that took `seconds`, by a detector of this head.
Json to_json(const Precision& precision, HeadKind head, double seconds);
// A line.
std::string text_of(const Precision& precision, HeadKind head);

}  // namespace shoal::detect
