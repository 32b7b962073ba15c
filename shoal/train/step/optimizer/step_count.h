// Step counts in a saved state.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::train {

// The step count under this name. kCorrupt if it is missing or invalid.
Result<int64_t> steps_from(const std::map<std::string, Tensor>& state, const std::string& name);

}  // namespace shoal::train
