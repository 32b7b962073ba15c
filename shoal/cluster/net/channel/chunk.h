// Chunks: the format of frames on the wire. Frames are cut, so that an urgent one waits for a chunk
// and not for a frame.
//
//   header  u8 type, 3 x u8 0, u32 length of what follows            (numbers are little-endian)
//   frame   u64 bytes of payload, control part    opens a frame; its payload follows as
//   data    bytes                                 chunks until it is complete
//   abandon                                       the rest of the open frame will not come
//   urgent  control part                          a frame of its own, anywhere between chunks
//   ping                                          a sign of life
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shoal/cluster/net/frame.h"

namespace shoal::net {

enum class ChunkType : uint8_t { kFrame = 1, kData = 2, kAbandon = 3, kUrgent = 4, kPing = 5 };

inline constexpr size_t kChunkHeaderBytes = 8;
inline constexpr size_t kFramePrefixBytes = 8;  // the size of the payload, before the control part
inline constexpr size_t kMaxDataBytes = size_t{256} << 10;

struct ChunkHeader {
  ChunkType type;
  uint32_t length;
};

void encode(const ChunkHeader& header, std::span<std::byte, kChunkHeaderBytes> into);
// kCorrupt for an unknown type and for nonzero padding; the assembler checks lengths.
Result<ChunkHeader> decode(std::span<const std::byte, kChunkHeaderBytes> bytes);

void encode_u64(uint64_t value, std::span<std::byte, 8> into);
uint64_t decode_u64(std::span<const std::byte, 8> bytes);

}  // namespace shoal::net
