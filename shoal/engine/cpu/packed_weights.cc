// The key of packed weights: a hash of the weights and of the form that they are packed in.
#include "shoal/engine/cpu/packed_weights.h"

#include "shoal/base/math/hash.h"

namespace shoal::cpu {

uint64_t packed_key(const KernelSpec& spec, const PackedForm& form) {
  const uint64_t parts[] = {hash_with(spec.pool, spec.constant(1)->bytes()),
                            hash_of(std::as_bytes(std::span(form.name))),
                            hash_of(std::as_bytes(std::span(form.numbers)))};
  return hash_of(std::as_bytes(std::span(parts)));
}

}  // namespace shoal::cpu
