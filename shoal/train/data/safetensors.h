// Named tensors in Hugging Face's safetensors format: header length, JSON header, elements.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// The contents of a file. Tensors that were read own their elements.
struct TensorFile {
  std::map<std::string, Tensor> tensors;        // by name
  std::map<std::string, std::string> metadata;  // free text
  bool checked = false;                         // when read: a checksum was there and correct
};

// Replaces the file atomically. Adds a checksum to the metadata, which other readers ignore.
// REQUIRES: all tensors are defined.
Status write_safetensors(const std::filesystem::path& path, const TensorFile& file);

// Reads a file. Fails with kNotFound if there is none, and with kCorrupt if sizes, gaps, overlaps,
// duplicate names or the checksum show that it is damaged.
Result<TensorFile> read_safetensors(const std::filesystem::path& path);
// The same for a file in memory.
Result<TensorFile> parse_safetensors(std::span<const std::byte> bytes);

}  // namespace shoal

#pragma GCC visibility pop
