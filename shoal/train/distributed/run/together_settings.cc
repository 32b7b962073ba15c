#include "shoal/train/distributed/run/together_settings.h"

#include <bit>
#include <cstdlib>

#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {
std::optional<bool> TogetherSettings::fixed_shares() const {
  return fixed || measured ? std::optional(fixed) : std::nullopt;
}

int TogetherSettings::levels() const {
  return std::countr_zero(static_cast<uint64_t>(micro_batches));
}

}  // namespace shoal::learn
