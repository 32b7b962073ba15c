// Named tensors in a file, in the format of Hugging Face's safetensors: the length of a header, the
// header in JSON, the elements one after the other.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// What such a file holds. Tensors that were read own their elements.
struct TensorFile {
  std::map<std::string, Tensor> tensors;        // by name
  std::map<std::string, std::string> metadata;  // what else is worth knowing
  bool checked = false;                         // when read: there was a checksum, and it was right
};

// Replaces the file as a whole or, if it cannot be written, leaves the old one as it was. Adds a
// checksum of everything to the metadata, where other readers pass it over.
Status write_safetensors(const std::filesystem::path& path, const TensorFile& file);

// Refuses (kCorrupt) what does not add up: sizes, gaps, overlaps, names twice, and a checksum that
// is wrong. kNotFound if there is no file.
Result<TensorFile> read_safetensors(const std::filesystem::path& path);
// The same for a file in memory.
Result<TensorFile> parse_safetensors(std::span<const std::byte> bytes);

}  // namespace shoal

#pragma GCC visibility pop
