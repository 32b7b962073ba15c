// Assembler: chunks in, frames out. It reads bytes of untrusted peers and does no I/O, so it is
// fuzzed. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/net/channel/chunk.h"
#include "shoal/cluster/net/frame.h"

namespace shoal::net {

class Assembler {
 public:
  explicit Assembler(size_t max_payload_bytes) : max_payload_bytes_(max_payload_bytes) {}

  // The memory for the next bytes of the stream, never empty. Payload is received without a copy.
  std::span<std::byte> want();

  // Takes the first `n` bytes of want(). Returns a frame if they complete one. kCorrupt: the stream
  // cannot be parsed any further. Other errors come from `place`, and the next frames can be read.
  Result<std::optional<Frame>> got(size_t n, const Place& place);

  // Nothing of a chunk was received except, perhaps, a part of its header.
  bool between_chunks() const { return part_ == Part::kHeader; }

 private:
  enum class Part { kHeader, kOpening, kUrgent, kData, kDropped };

  Result<std::optional<Frame>> header_is_here();
  Result<std::optional<Frame>> opening_is_here(const Place& place);
  Result<std::optional<Frame>> data_is_here();
  Result<std::optional<Frame>> urgent_is_here();
  Status begin(const ChunkHeader& chunk);
  void expect(Part part, size_t bytes);

  size_t max_payload_bytes_;
  Part part_ = Part::kHeader;
  size_t filled_ = 0;                                // of the part
  size_t expected_ = kChunkHeaderBytes;              // of the part
  std::array<std::byte, kChunkHeaderBytes> header_;  // of the chunk
  std::vector<std::byte> body_;                      // of an opening or an urgent chunk

  // The open frame: its header has come, some of its payload has not.
  bool open_ = false;
  bool dropping_ = false;  // it has no place
  Frame frame_;
  size_t payload_bytes_ = 0;
  size_t payload_here_ = 0;  // of the chunks before this one
  std::vector<std::byte> dropped_;
};

}  // namespace shoal::net
