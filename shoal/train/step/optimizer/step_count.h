// Numbers of steps in a state that was saved.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::train {

// The number of steps that a state has under this name. Fails with kCorrupt if there is none, or it
// cannot be one.
Result<int64_t> steps_from(const std::map<std::string, Tensor>& state, const std::string& name);

}  // namespace shoal::train
