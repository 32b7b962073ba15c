// Stream: bytes in order, both ways. The layer below a channel.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "shoal/base/status.h"
#include "shoal/cluster/net/frame.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {

// With a deadline in the past, an operation does only what needs no waiting.
inline constexpr Deadline kNoWait{};

// One thread may read and one may write at once.
class Stream {
 public:
  virtual ~Stream() = default;

  // Reads the bytes that have arrived, at least one. kUnavailable at the end.
  virtual Result<size_t> read(std::span<std::byte> into, Deadline deadline) = 0;

  // Takes all of `pieces`, or at kDeadline none. May hold back one call's bytes until flush().
  virtual Status write(std::span<const Bytes> pieces, Deadline deadline) = 0;

  // After kDeadline, the rest is sent before the next write, or at the next flush.
  virtual Status flush(Deadline deadline) = 0;

  // Whether bytes have arrived that were not read yet, if that is known. From any thread.
  virtual bool has_input() { return false; }

  // From any thread. Readers and writers wake up with kUnavailable, and so do those of the peer.
  virtual void shut_down() = 0;
};

// Puts something between a channel and its stream.
class Decorator {
 public:
  virtual ~Decorator() = default;
  virtual std::unique_ptr<Stream> wrap(std::unique_ptr<Stream> stream, const Peer& peer) const = 0;
};

// Sees received bytes before they are decrypted, and may change them.
using Tap = std::function<void(std::span<std::byte>)>;

}  // namespace shoal::net
