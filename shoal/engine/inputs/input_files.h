// Files that are inputs of a model: images and .npy arrays.
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

// The images and .npy files in a folder and its sub-folders, sorted, `limit` of them at most. Those
// are spread over all, because neighbours are often of one kind. Fails with kNotFound if there is
// none.
Result<std::vector<std::filesystem::path>> list_input_files(const std::filesystem::path& folder,
                                                            size_t limit);

// A file as an input with these elements and dimensions takes it: an image by image_for_input, an
// array as it is. u16 becomes bf16 where the input takes bf16, because .npy has no such type.
Result<Tensor> read_input_file(const std::filesystem::path& file, DType dtype,
                               std::span<const int64_t> dims, const Preprocess& how);

}  // namespace shoal
