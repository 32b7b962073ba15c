// Tensors as .npy files, the format NumPy saves. bf16, which NumPy lacks, is written as u16 bits.
#pragma once

#include <filesystem>
#include <span>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

namespace shoal {

Result<Tensor> read_npy(const std::filesystem::path& path);
Result<Tensor> parse_npy(std::span<const std::byte> bytes);
Status write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace shoal
