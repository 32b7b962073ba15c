// Input files of a model: images and .npy arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal {

// At most `limit` images and .npy files in a folder and its sub-folders, sorted, sampled evenly
// because neighbours are often of one class. Fails with kNotFound if there is none.
Result<std::vector<std::filesystem::path>> list_input_files(const std::filesystem::path& folder,
                                                            size_t limit);

// Reads a file for an input of this type and these dimensions: images by image_for_input, arrays
// unchanged. u16 becomes bf16 if the input takes bf16, which .npy lacks.
Result<Tensor> read_input_file(const std::filesystem::path& file, DType dtype,
                               std::span<const int64_t> dims, const Preprocess& how);

}  // namespace shoal
