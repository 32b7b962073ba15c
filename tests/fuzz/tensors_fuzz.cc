// Any bytes as a file of named tensors: refused, or tensors that are whole.
#include <cstddef>
#include <cstdint>
#include <span>

#include "shoal/data/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = shoal::parse_safetensors(std::as_bytes(std::span(data, size)));
  if (!file.ok()) return 0;
  for (const auto& [name, tensor] : file->tensors) {
    if (tensor.bytes().size() > size) __builtin_trap();
  }
  return 0;
}
