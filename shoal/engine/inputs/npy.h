// Tensors as .npy files, the format NumPy saves. bf16, which NumPy lacks, is written as u16 bits.
#pragma once

#include <filesystem>
#include <span>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// The array in a file: kNotFound if there is none, kCorrupt if it is no .npy file, kUnsupported for
// element types that tensors do not have and for more than eight dimensions.
Result<Tensor> read_npy(const std::filesystem::path& path);
// The same for a file in memory.
Result<Tensor> parse_npy(std::span<const std::byte> bytes);
// Replaces the file. Fails if it cannot be written. REQUIRES: tensor.defined().
Status write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace shoal

#pragma GCC visibility pop
