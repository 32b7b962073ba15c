// Named tensors in a file, in the format of Hugging Face's safetensors: the length of a header, the
// header in JSON, the elements one after the other.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// The contents of such a file. Tensors that were read own their elements.
struct TensorFile {
  std::map<std::string, Tensor> tensors;        // by name
  std::map<std::string, std::string> metadata;  // what else is worth knowing
  bool checked = false;                         // when read: there was a checksum, and it was right
};

// Replaces the file as a whole or, if it cannot be written, leaves the old one as it was. Adds a
// checksum of everything to the metadata, which other readers ignore. REQUIRES: all tensors are
// defined.
Status write_safetensors(const std::filesystem::path& path, const TensorFile& file);

// Reads a file. Fails with kNotFound if there is none, and with kCorrupt if sizes, gaps, overlaps,
// duplicate names or the checksum show that it is damaged.
Result<TensorFile> read_safetensors(const std::filesystem::path& path);
// The same for a file in memory.
Result<TensorFile> parse_safetensors(std::span<const std::byte> bytes);

}  // namespace shoal

#pragma GCC visibility pop
