// The weights of a node in the form that its kernel reads them: packed when the kernel is made, or
// found where an earlier process has left them.
#pragma once

#include <string_view>
#include <vector>

#include "shoal/cpu/aligned.h"
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/packed_cache.h"

namespace shoal::cpu {

// All that the packed weights depend on but the weights and the instruction set. Whoever changes
// what a form looks like renames it, for files of the old one are about.
struct PackedForm {
  std::string_view name;
  std::vector<int64_t> numbers;
};

// Of the weights of a node, which are its input 1 and constant.
uint64_t packed_key(const KernelSpec& site, const PackedForm& form);

// fill(to) writes all `count` floats.
template <class Fill>
PackedFloats packed_weights(const KernelSpec& site, const PackedForm& form, int64_t count,
                            const Fill& fill) {
  const uint64_t key = site.cache != nullptr ? packed_key(site, form) : 0;
  if (site.cache != nullptr) {
    if (PackedFloats found = site.cache->find(key, count, site.pool)) return found;
  }
  const auto memory = std::make_shared<AlignedFloats>(count);
  fill(memory->data());
  const PackedFloats packed(memory, memory->data());
  if (site.cache != nullptr) site.cache->add(key, packed, count);
  return packed;
}

}  // namespace shoal::cpu
