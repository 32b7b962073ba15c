// BulkWindow: how many bytes of bulk data may be on their way at once.
//
// Enough to use the link, and no more: what waits in buffers on the way delays the requests behind
// it. The window follows the time until chunks are acknowledged, as LEDBAT (RFC 6817) and TCP Vegas
// do. The shortest time to a peer is that of an empty link; with a full window it may grow by a
// quarter, or by a millisecond.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>

namespace shoal::cluster {

// Shared by all peers of a sender, who may be on one radio. It has no clock. Not thread-safe.
class BulkWindow {
 public:
  using Duration = std::chrono::steady_clock::duration;
  using Time = std::chrono::steady_clock::time_point;

  static constexpr size_t kSmallestChunk = size_t{4} << 10, kLargestChunk = size_t{1} << 20;
  static constexpr size_t kChunks = 4;  // in a full window, unless they would be too small

  size_t chunk_bytes() const { return std::max(window_ / kChunks, kSmallestChunk); }
  size_t bytes() const { return window_; }
  size_t in_flight() const { return in_flight_; }
  bool has_room() const { return in_flight_ == 0 || in_flight_ + chunk_bytes() <= window_; }

  // Whether the time of an empty link to this peer is not known, or was measured long ago: links
  // change. Then the next chunk to it should travel alone.
  bool must_probe(int peer, Time now) const;

  void sent(size_t bytes) { in_flight_ += bytes; }
  // A chunk was acknowledged, this long after it was sent.
  void acknowledged(int peer, size_t bytes, Duration took, Time now);

 private:
  struct Link {
    Duration empty{};     // the shortest time
    Time probed{};        // when it was measured
    Duration shortest{};  // in this round
    size_t chunks = 0;    // in this round
  };

  void end_round();

  size_t window_ = kChunks * kSmallestChunk;
  size_t in_flight_ = 0;
  bool starting_ = true;
  std::map<int, Link> links_;  // by peer
  size_t round_bytes_ = 0, round_chunks_ = 0;
};

}  // namespace shoal::cluster
