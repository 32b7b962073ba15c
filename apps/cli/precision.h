// `--precision auto` of `shoal bench` and `shoal eval`: which layers a GPU computes in half
// precision.
#pragma once

#include <string>

#include "apps/flags/json.h"
#include "shoal/gpu/session_precision.h"

namespace shoal::cli {

// Whether the device of this name is one whose precision can be chosen: opencl:N, vulkan:N.
bool has_precisions(const std::string& device);

// The device of this name with a CPU beside it, in any precision. Fails with kUnsupported where
// this program was built without the device.
MakeWithPrecision with_precision(const std::string& device);

// What the search says, for scripts.
Json facts_of(const AutomaticPrecision& found);

}  // namespace shoal::cli
