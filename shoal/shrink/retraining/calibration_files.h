// Calibration examples from files.
#pragma once

#include <filesystem>

#include "shoal/base/status.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/shrink/compress/quantization/calibration.h"

#pragma GCC visibility push(default)

namespace shoal::fit {

// At most `limit` images and .npy files of a folder as examples for a graph of one input. Files are
// read on demand, by any thread; an unreadable or unfit file is an error that names it.
// kInvalidArgument for another number of inputs; fails as the folder does. The result keeps neither
// `graph` nor `preprocess`.
Result<compress::CalibrationData> folder_examples(const Graph& graph,
                                                  const std::filesystem::path& folder, size_t limit,
                                                  const Preprocess& preprocess);

}  // namespace shoal::fit

#pragma GCC visibility pop
