// Packed weights of a node: packed when its kernel is made, or found in the cache of an earlier
// process.
#pragma once

#include <string_view>
#include <vector>

#include "shoal/engine/cpu/aligned.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/packed_cache.h"

namespace shoal::cpu {

// Identity of a packed form: everything that it depends on besides the weights and the instruction
// set. A form whose layout changes needs a new name, because files with the old one exist.
struct PackedForm {
  std::string_view name;
  std::vector<int64_t> numbers;
};

// Key of the packed weights of a node. REQUIRES: input 1 is constant.
uint64_t packed_key(const KernelSpec& spec, const PackedForm& form);

// Returns packed weights from the cache, or calls fill(to), which writes all `count` floats, and
// adds them to the cache. REQUIRES: input 1 is constant.
template <class Fill>
PackedFloats packed_weights(const KernelSpec& spec, const PackedForm& form, int64_t count,
                            const Fill& fill) {
  const uint64_t key = spec.cache != nullptr ? packed_key(spec, form) : 0;
  if (spec.cache != nullptr) {
    if (PackedFloats found = spec.cache->find(key, count, spec.pool)) return found;
  }
  const auto memory = std::make_shared<AlignedFloats>(count);
  fill(memory->data());
  const PackedFloats packed(memory, memory->data());
  if (spec.cache != nullptr) spec.cache->add(key, packed, count);
  return packed;
}

}  // namespace shoal::cpu
