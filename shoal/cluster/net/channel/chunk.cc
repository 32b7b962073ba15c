#include "shoal/cluster/net/channel/chunk.h"

#include <algorithm>
#include <string>

namespace shoal::net {
namespace {

template <size_t n>
void encode_number(uint64_t value, std::span<std::byte, n> into) {
  for (std::byte& b : into) {
    b = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
}

template <size_t n>
uint64_t decode_number(std::span<const std::byte, n> bytes) {
  uint64_t value = 0;
  for (size_t i = n; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

}  // namespace

void encode(const ChunkHeader& header, std::span<std::byte, kChunkHeaderBytes> into) {
  std::ranges::fill(into, std::byte{0});
  into[0] = static_cast<std::byte>(header.type);
  encode_number(header.length, into.subspan<4, 4>());
}

Result<ChunkHeader> decode(std::span<const std::byte, kChunkHeaderBytes> bytes) {
  const auto type = std::to_integer<uint8_t>(bytes[0]);
  if (type < static_cast<uint8_t>(ChunkType::kFrame) ||
      type > static_cast<uint8_t>(ChunkType::kPing))
    return Status(Code::kCorrupt, "chunk of unknown type " + std::to_string(type));
  // Reserved bytes are checked, so that later versions can give them a meaning.
  for (std::byte zero : bytes.subspan<1, 3>())
    if (zero != std::byte{0})
      return Status(Code::kCorrupt, "header of a chunk has bytes set that must be zero");
  return ChunkHeader{static_cast<ChunkType>(type),
                     static_cast<uint32_t>(decode_number(bytes.subspan<4, 4>()))};
}

void encode_u64(uint64_t value, std::span<std::byte, 8> into) { encode_number(value, into); }
uint64_t decode_u64(std::span<const std::byte, 8> bytes) { return decode_number(bytes); }

}  // namespace shoal::net
