// Frames: the messages between machines. Bytes and deadlines, no tensors.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::net {

using Bytes = std::span<const std::byte>;
using Deadline = std::chrono::steady_clock::time_point;

inline Deadline after(std::chrono::steady_clock::duration time) {
  return std::chrono::steady_clock::now() + time;
}

// Memory that lives as long as its owner.
struct Buffer {
  std::shared_ptr<void> keep;
  std::span<std::byte> bytes;

  // Aligned to 64 bytes, so that tensors can view it; not filled. kExhausted if there is no memory.
  static Result<Buffer> allocate(size_t size);
};

// A frame to be sent. Views only: nothing is copied, so all of it must live until send() returns.
struct FrameView {
  Bytes control;                   // small: says what this is
  std::span<const Bytes> payload;  // large: any number of pieces, received as one
  // Overtakes every frame that is not urgent, even one that is half sent. Order holds among urgent
  // frames, among bulk frames and among the others. An urgent frame has a control part of at most
  // kMaxUrgentBytes and no payload.
  bool urgent = false;
  // Waits for the frames before it and for those sent meanwhile, but for only a few of the latter.
  // An ordinary frame does not interrupt one that is being sent, so its payload should be small.
  // REQUIRES: not urgent.
  bool bulk = false;
};

inline constexpr size_t kMaxUrgentBytes = size_t{16} << 10;

// A received frame.
struct Frame {
  std::vector<std::byte> control;
  Buffer payload;
};

// Chooses the memory of a payload. Called between the control part and the payload, with a size
// that the limits allow. Returns exactly that many bytes, or an error, which receive() then
// returns; the payload is then read and dropped, and the channel stays usable. Must be quick: the
// channel does not read from its peer meanwhile.
using Place = std::function<Result<Buffer>(Bytes control, size_t payload_bytes)>;

}  // namespace shoal::net
