// What commands print for scripts.
#pragma once

#include "shoal/base/text/json.h"

namespace shoal::cli {

using shoal::Json;

// On one line of standard output.
void print_json(const Json& json);

}  // namespace shoal::cli
