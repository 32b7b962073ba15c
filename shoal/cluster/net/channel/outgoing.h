// Outgoing: frames on their way out: headers, and payloads cut into chunks without a copy.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "shoal/cluster/net/channel/chunk.h"

namespace shoal::net {

inline size_t total(std::span<const Bytes> pieces) {
  size_t sum = 0;
  for (Bytes piece : pieces) sum += piece.size();
  return sum;
}

// A chunk's header and, for a frame, the size of its payload.
class Head {
 public:
  explicit Head(const ChunkHeader& chunk) {
    encode(chunk, std::span(bytes_).first<kChunkHeaderBytes>());
  }
  Head(const ChunkHeader& chunk, uint64_t payload_bytes) : Head(chunk) {
    encode_u64(payload_bytes, std::span(bytes_).last<kFramePrefixBytes>());
    size_ = bytes_.size();
  }
  operator Bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, kChunkHeaderBytes + kFramePrefixBytes> bytes_{};
  size_t size_ = kChunkHeaderBytes;
};

inline Head head(ChunkType type, size_t length) {
  return Head(ChunkHeader{type, static_cast<uint32_t>(length)});
}

// Walks through pieces as if they were one.
class Cutter {
 public:
  explicit Cutter(std::span<const Bytes> pieces) : pieces_(pieces) {}

  // Appends views of the next `bytes` bytes, which there must be.
  void take(size_t bytes, std::vector<Bytes>& into) {
    while (bytes > 0) {
      const Bytes piece = pieces_.front().subspan(done_);
      const size_t n = std::min(bytes, piece.size());
      if (n > 0) into.push_back(piece.first(n));
      bytes -= n;
      done_ += n;
      if (done_ == pieces_.front().size()) {
        pieces_ = pieces_.subspan(1);
        done_ = 0;
      }
    }
  }

 private:
  std::span<const Bytes> pieces_;
  size_t done_ = 0;  // of the first
};

}  // namespace shoal::net
