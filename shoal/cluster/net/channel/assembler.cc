// A state machine over parts: header, then the body that the header announces. Memory is bounded
// before it is allocated: control parts and urgent frames by constants, payloads by the channel's
// limit, data chunks by the rest of their frame. A length is checked when its header arrives, never
// later.
#include "shoal/cluster/net/channel/assembler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "shoal/base/limits.h"

namespace shoal::net {
namespace {

using Perhaps = std::optional<Frame>;

Status corrupt(std::string message) { return Status(Code::kCorrupt, std::move(message)); }

Status too_large(std::string_view what, uint64_t size, uint64_t limit) {
  return corrupt(std::string(what) + " of " + std::to_string(size) + " bytes where at most " +
                 std::to_string(limit) + " are allowed");
}

}  // namespace

std::span<std::byte> Assembler::want() {
  switch (part_) {
    case Part::kHeader:
      return std::span(header_).subspan(filled_);
    case Part::kOpening:
    case Part::kUrgent:
      return std::span(body_).subspan(filled_);
    case Part::kData:
      return frame_.payload.bytes.subspan(payload_here_ + filled_, expected_ - filled_);
    case Part::kDropped:
      return std::span(dropped_).first(expected_ - filled_);
  }
  return {};
}

Result<std::optional<Frame>> Assembler::got(size_t n, const Place& place) {
  filled_ += n;
  if (filled_ < expected_) return Perhaps();
  switch (part_) {
    case Part::kHeader:
      return header_is_here();
    case Part::kOpening:
      return opening_is_here(place);
    case Part::kUrgent:
      return urgent_is_here();
    case Part::kData:
    case Part::kDropped:
      return data_is_here();
  }
  return Perhaps();
}

void Assembler::expect(Part part, size_t bytes) {
  part_ = part;
  filled_ = 0;
  expected_ = bytes;
  if (part == Part::kOpening || part == Part::kUrgent) body_.resize(bytes);
  if (part == Part::kDropped) dropped_.resize(kMaxDataBytes);
}

// REQUIRES: all bytes of the part have arrived; so do the functions below.
Result<std::optional<Frame>> Assembler::header_is_here() {
  SHOAL_ASSIGN(const ChunkHeader chunk, decode(header_));
  SHOAL_TRY(begin(chunk));
  if (part_ == Part::kUrgent && expected_ == 0) return urgent_is_here();
  return Perhaps();
}

Status Assembler::begin(const ChunkHeader& chunk) {
  const size_t length = chunk.length;
  switch (chunk.type) {
    case ChunkType::kFrame:
      if (open_) return corrupt("a frame begins inside another");
      if (length < kFramePrefixBytes) return corrupt("a frame without the size of its payload");
      if (length - kFramePrefixBytes > kLimits.max_control_bytes)
        return too_large("control part", length - kFramePrefixBytes, kLimits.max_control_bytes);
      expect(Part::kOpening, length);
      return {};
    case ChunkType::kData:
      if (!open_) return corrupt("data without a frame");
      // An empty chunk would make want() empty; a longer one would write beyond the payload.
      if (length == 0 || length > std::min(kMaxDataBytes, payload_bytes_ - payload_here_))
        return corrupt("data chunk of " + std::to_string(length) + " bytes where " +
                       std::to_string(payload_bytes_ - payload_here_) + " are missing");
      expect(dropping_ ? Part::kDropped : Part::kData, length);
      return {};
    case ChunkType::kUrgent:
      if (length > kMaxUrgentBytes) return too_large("urgent frame", length, kMaxUrgentBytes);
      expect(Part::kUrgent, length);
      return {};
    case ChunkType::kAbandon:
    case ChunkType::kPing:
      if (length != 0) return corrupt("a chunk that must be empty is not");
      if (chunk.type == ChunkType::kAbandon) {
        if (!open_) return corrupt("a frame is abandoned where there is none");
        open_ = false;
        // Frees the payload of an abandoned frame at once.
        frame_ = Frame{};
      }
      expect(Part::kHeader, kChunkHeaderBytes);
      return {};
  }
  return corrupt("chunk of unknown type");
}

Result<std::optional<Frame>> Assembler::opening_is_here(const Place& place) {
  const Bytes body(body_);
  const uint64_t payload = decode_u64(body.first<kFramePrefixBytes>());
  if (payload > max_payload_bytes_) return too_large("payload", payload, max_payload_bytes_);
  const Bytes control = body.subspan(kFramePrefixBytes);
  frame_ = Frame{{control.begin(), control.end()}, {}};
  expect(Part::kHeader, kChunkHeaderBytes);
  if (payload == 0) return std::optional(std::exchange(frame_, {}));

  // Also if there is no place for the payload: its chunks will come, and are dropped.
  open_ = true;
  payload_bytes_ = static_cast<size_t>(payload);
  payload_here_ = 0;
  auto memory = place ? place(frame_.control, payload_bytes_) : Buffer::allocate(payload_bytes_);
  dropping_ = !memory.ok();
  if (dropping_) return memory.status();
  SHOAL_CHECK(memory->bytes.size() == payload_bytes_);
  frame_.payload = *std::move(memory);
  return Perhaps();
}

Result<std::optional<Frame>> Assembler::data_is_here() {
  payload_here_ += expected_;
  expect(Part::kHeader, kChunkHeaderBytes);
  if (payload_here_ < payload_bytes_) return Perhaps();
  open_ = false;
  if (dropping_) return Perhaps();
  return std::optional(std::exchange(frame_, {}));
}

Result<std::optional<Frame>> Assembler::urgent_is_here() {
  expect(Part::kHeader, kChunkHeaderBytes);
  return std::optional(Frame{std::exchange(body_, {}), {}});
}

}  // namespace shoal::net
