// A fast hash, as fast as memory is read: to recognise contents and to find accidents. Whoever
// wants two contents of the same hash can make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shoal {

uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace shoal
