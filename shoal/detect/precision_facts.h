// Average precision, for scripts.
#pragma once

#include "shoal/base/json.h"
#include "shoal/detect/precision.h"

namespace shoal::detect {

// Of images that took so many seconds.
Json to_json(const Precision& precision, double seconds);

}  // namespace shoal::detect
