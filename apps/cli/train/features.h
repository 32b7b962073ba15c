// What the frozen part of a network makes of the examples, computed once and kept: training then
// goes through its head alone.
#pragma once

#include <memory>

#include "shoal/base/status.h"
#include "shoal/data/batches.h"
#include "shoal/device/device.h"

namespace shoal::cli {

// The data set with features [1, ...] in the place of images, in its order. `batches` go through
// `data` once, in order, and fit the body. `data` outlives the result.
Result<std::shared_ptr<const Dataset>> features_of(Executable& body, const Dataset& data,
                                                   const Batches& batches);

}  // namespace shoal::cli
