// Named tensors in a file, in the format of Hugging Face's safetensors: the length of a header, the
// header in JSON, the elements one after the other.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

namespace shoal {

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
  bool checked = false;  // when read: there was a checksum, and it was right
};

// All of the file or, if it cannot be written, the old one as it was. Adds a checksum of everything
// to the metadata, where other readers pass it over.
Status write_safetensors(const std::filesystem::path& path, const TensorFile& file);

// Refuses what does not add up: sizes, gaps, overlaps, names twice, and a checksum that is wrong.
Result<TensorFile> read_safetensors(const std::filesystem::path& path);
Result<TensorFile> parse_safetensors(std::span<const std::byte> bytes);

}  // namespace shoal
