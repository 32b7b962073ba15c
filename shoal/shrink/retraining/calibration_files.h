// Files to calibrate a graph with.
#pragma once

#include <filesystem>

#include "shoal/base/status.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/shrink/compress/quantization/calibration.h"

#pragma GCC visibility push(default)

namespace shoal::fit {

// The images and .npy files in a folder, `limit` at most, as examples for a graph of one input.
// They are read when they are asked for, by any thread; a file that cannot be read or does not fit
// is an error then that names the file. Fails with kInvalidArgument if the graph has another number
// of inputs, or as the folder does. The result needs neither `graph` nor `preprocess` any longer.
Result<compress::CalibrationData> folder_examples(const Graph& graph,
                                                  const std::filesystem::path& folder, size_t limit,
                                                  const Preprocess& preprocess);

}  // namespace shoal::fit

#pragma GCC visibility pop
